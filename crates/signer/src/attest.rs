//! A signer as its clients see it: in this process, or behind its socket.

use async_trait::async_trait;
use pcm::signer::Fault;
use pcm::signer::rpc::{
    ApprovalAbandon, ApprovalConsume, ApprovalGet, ApprovalRequest, ApprovalStanding, ApprovalTold,
    ApprovalWait, CloseRun, Closed, Complete, Consumed, Decide, Decided, Observe, Recorded, RegisterRun,
    Registered, Request, read_reply,
};

/// Whoever attests calls. An answer means that its records are durable; a call whose answer was lost
/// ([`FaultCode::Unavailable`](pcm::signer::FaultCode::Unavailable)) is sent again with the same `request_id`, and is answered as
/// it was then.
#[async_trait]
pub trait Attest: Send + Sync + 'static {
    /// One call, and the reply as it goes over the wire, an error too.
    async fn call(&self, request: Request) -> Result<Vec<u8>, Fault>;

    async fn register_run(&self, of: RegisterRun) -> Result<Registered, Fault> {
        read_reply(&self.call(Request::RegisterRun(of)).await?)
    }
    /// Whether a call may be made. Durable before it is answered, so before the call runs (D42).
    async fn decide(&self, of: Decide) -> Result<Decided, Fault> {
        read_reply(&self.call(Request::Decide(of)).await?)
    }
    /// What a call gave. Durable before it is answered (D42).
    async fn complete(&self, of: Complete) -> Result<Recorded, Fault> {
        read_reply(&self.call(Request::Complete(of)).await?)
    }
    async fn observe(&self, of: Observe) -> Result<Recorded, Fault> {
        read_reply(&self.call(Request::Observe(of)).await?)
    }
    /// Asks people about a call that was decided `ask`. Asked again, it says where the approval stands.
    async fn approval_request(&self, of: ApprovalRequest) -> Result<ApprovalStanding, Fault> {
        read_reply(&self.call(Request::ApprovalRequest(of)).await?)
    }
    /// Answers once somebody has answered, or the time is over.
    async fn approval_wait(&self, of: ApprovalWait) -> Result<ApprovalStanding, Fault> {
        read_reply(&self.call(Request::ApprovalWait(of)).await?)
    }
    async fn approval_get(&self, of: ApprovalGet) -> Result<ApprovalTold, Fault> {
        read_reply(&self.call(Request::ApprovalGet(of)).await?)
    }
    /// Uses an approval, once, for exactly the call it is of. `ok: false` names the rule that refuses.
    async fn approval_consume(&self, of: ApprovalConsume) -> Result<Consumed, Fault> {
        read_reply(&self.call(Request::ApprovalConsume(of)).await?)
    }
    async fn approval_abandon(&self, of: ApprovalAbandon) -> Result<ApprovalStanding, Fault> {
        read_reply(&self.call(Request::ApprovalAbandon(of)).await?)
    }
    async fn close_run(&self, of: CloseRun) -> Result<Closed, Fault> {
        read_reply(&self.call(Request::CloseRun(of)).await?)
    }
}
