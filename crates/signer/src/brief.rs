//! What a person is shown of a call that waits for them: exactly what will run, and where each line comes from.

use crate::service::stream;
use approvals::text::{show, suspicious};
use approvals::{Accepts, Ask, Audience, Brief, EvidenceKind, Item, OrgId, Section, Standing};
use canon::Value;
use pcm::signer::Approval;
use std::collections::BTreeSet;

/// The question, to the approvers of an organization. Its action is the approval's binding: the call, the attempt, the tool,
/// the commitment to the arguments, the policy, the end.
pub fn ask(of: &Approval, org: &str) -> Ask {
    Ask {
        id: of.id.clone(),
        stream: stream().to_string(),
        protocol: "pcm".to_owned(),
        action_hash: of.binding,
        brief: brief(of),
        audience: Audience::Approvers { org: OrgId(org.to_owned()) },
        accepts: Accepts {
            kinds: vec![EvidenceKind::Passkey, EvidenceKind::Ed25519],
            relayed_is_held: false,
        },
        asked_at: of.asked_at,
        expires_at: Some(of.expires_at),
    }
}

fn brief(of: &Approval) -> Brief {
    let args = of.args.as_ref().unwrap_or(&Value::Null);
    let mut call = vec![line("Tool", &of.tool, Standing::Checked)];
    match args.as_object() {
        Some(object) => {
            call.extend(object.iter().map(|(name, value)| line(name, &written(value), Standing::Checked)));
        }
        None => call.push(line("Arguments", &written(args), Standing::Checked)),
    }
    let mut asker = vec![
        line("Agent", &of.requester, Standing::Checked),
        line("Run", &of.run_id, Standing::Checked),
        line("The agent calls it", &of.tool_call_id, Standing::Claimed),
    ];
    if let Some(via) = &of.via {
        asker.push(line("Run by", via, Standing::Checked));
    }
    if let Some(reason) = &of.reason {
        asker.push(line("The agent says", reason, Standing::Claimed));
    }
    let rules = of.rules.iter().map(|rule| line("Rule", rule, Standing::Checked));
    let mut seen = BTreeSet::new();
    seen.extend(suspicious(&of.tool));
    seen.extend(suspicious(&written(args)));
    seen.extend(suspicious(of.reason.as_deref().unwrap_or_default()));
    Brief {
        title: format!("An agent wants to call {}", show(&of.tool)),
        question: format!(
            "May {} call {} once, with exactly these arguments?",
            show(&of.requester),
            show(&of.tool)
        ),
        sections: vec![
            Section { heading: "The call".to_owned(), items: call },
            Section { heading: "Who asks".to_owned(), items: asker },
            Section { heading: "Why you are asked".to_owned(), items: rules.collect() },
        ],
        warnings: seen.into_iter().map(|odd| odd.sentence().to_owned()).collect(),
    }
}

fn line(label: &str, text: &str, standing: Standing) -> Item {
    Item { label: Some(show(label)), text: show(text), standing }
}

/// A text as it is, anything else as canonical JSON.
fn written(value: &Value<'_>) -> String {
    match value {
        Value::String(text) => text.to_string(),
        value => String::from_utf8(canon::to_vec(value).unwrap_or_default()).unwrap_or_default(),
    }
}
