//! A journal that fails before and after it has written: a call that is sent again as it was is recorded once.

use crate::house::*;
use env::{Timestamp, Virtual};
use signer::{Attest, Fault, FaultCode};
use std::sync::Arc;
use store::Journal;
use testkit::{FaultyJournal, MemoryJournal, Rates};

/// Until the signer answers. It gives up on a signer that never does.
async fn again<T, F: Future<Output = Result<T, Fault>>>(ask: impl Fn() -> F) -> T {
    for _ in 0..500 {
        match ask().await {
            Ok(answer) => return answer,
            Err(fault) if fault.code == FaultCode::Unavailable => {}
            Err(fault) => panic!("{fault:?}"),
        }
    }
    panic!("never answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_again_is_recorded_once() {
    for seed in 0..6 {
        let faulty = Arc::new(FaultyJournal::new(Arc::new(MemoryJournal::new()), seed));
        let source = Arc::new(Virtual::new(seed, Timestamp::from_secs(1_800_000_000)));
        let house = House::on(Arc::clone(&faulty) as Arc<dyn Journal>, source, 1).await;
        let mut runs = Vec::new();
        for caller in ["token:one", "token:two", "token:three"] {
            runs.push(Run::begin(house.seat(&gateway()), Some(caller)).await);
        }
        faulty.rates(Rates { fails_clean: 60, fails_landed: 60, hangs: 0 });
        let played = runs.into_iter().map(|mut run| async move {
            for call in 0..12 {
                let decide = run.deciding(&format!("call-{call}"), "http_get", args());
                let decided = again(|| run.seat.decide(decide.clone())).await;
                let complete = run.completing(&decide, &decided, "1");
                again(|| run.seat.complete(complete.clone())).await;
            }
            again(|| run.seat.close_run(run.closing())).await;
            run
        });
        let runs = futures::future::join_all(played).await;
        faulty.rates(Rates::default());
        for run in runs {
            let kinds = house.verified(&run.told.run_id).await;
            let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
            assert_eq!((count("policy.decision"), count("tool.result"), count("capture.gap")), (12, 12, 0));
        }
    }
}
