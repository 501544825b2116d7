//! The records a message shows, with what is opened of them.

use super::code::Code;
use super::wire::{Fault, Opened, Sender};
use crate::{Event, Opening, Record, SIGNER_RUN, SIGNER_TENANT, Tier};
use canon::{Digest, Value};
use std::collections::BTreeMap;

/// One record, of which its own checks have passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'s> {
    pub(crate) event: Event<'s>,
    pub(crate) hash: Digest,
    /// The arguments it commits to.
    pub(crate) arguments: Option<&'s Value<'static>>,
    /// The content it commits to.
    pub(crate) content: Option<&'s Value<'static>>,
}

/// All of them, by their names in the message.
#[derive(Debug, Default)]
pub(crate) struct Shelf<'s>(BTreeMap<&'s str, Shown<'s>>);

impl<'s> Shelf<'s> {
    pub(crate) fn put(&mut self, rid: &'s str, record: &Record<'s>) {
        let shown = Shown { event: record.event(), hash: record.hash(), arguments: None, content: None };
        self.0.insert(rid, shown);
    }

    /// Takes an opening. Refused unless it is what the record commits to.
    pub(crate) fn open(&mut self, rid: &str, opened: &'s Opened) -> Result<(), Fault> {
        let bad = || Fault::at(Code::BadOpening, format!("/evidence/openings/{rid}"));
        let shown = self.0.get_mut(rid).ok_or_else(bad)?;
        let (salt, event) = (opened.salt, shown.event);
        let holds = match (&opened.args, &opened.content) {
            (Some(value), None) => {
                shown.arguments = Some(value);
                tool(&event)
                    .ok_or(crate::Error::Opening)
                    .and_then(|tool| Opening { salt, value }.arguments(&event, tool))
            }
            (None, Some(value)) => {
                shown.content = Some(value);
                Opening { salt, value }.content(&event)
            }
            _ => return Err(bad()),
        };
        holds.map_err(|_| bad())
    }

    pub(crate) fn get(&self, rid: &str) -> Option<&Shown<'s>> {
        self.0.get(rid)
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'s str, &Shown<'s>)> {
        self.0.iter().map(|(rid, shown)| (*rid, shown))
    }
    /// Those of these names, in the order of the log.
    pub(crate) fn cited<'c>(&'c self, rids: &[String]) -> Vec<&'c Shown<'s>> {
        let mut cited: Vec<_> = rids.iter().filter_map(|rid| self.get(rid)).collect();
        cited.sort_by_key(|shown| shown.event.position());
        cited.dedup_by_key(|shown| shown.event.position());
        cited
    }
}

impl Shown<'_> {
    pub(crate) fn is_t2(&self) -> bool {
        self.event.tier() == Tier::T2
    }
    /// The call it belongs to.
    pub(crate) fn call(&self) -> Option<(&str, &str, u64)> {
        self.event.tool_call_id().map(|id| (self.event.run_id(), id, self.event.attempt()))
    }
    /// Of the sender's run, or the signer's own word about it.
    pub(crate) fn is_of(&self, from: &Sender) -> bool {
        let event = &self.event;
        event.run_id() == from.run_id
            || event.run_id() == SIGNER_RUN && event.data_text("run_id") == Some(from.run_id.as_str())
    }
    /// Of the sender's tenant, or the signer's own.
    pub(crate) fn is_of_tenant(&self, from: &Sender) -> bool {
        let own = (self.event.tenant(), self.event.run_id()) == (SIGNER_TENANT, SIGNER_RUN);
        own || self.event.tenant() == from.tenant
    }
    /// Whether it says that something was missed or altered.
    pub(crate) fn is_gap(&self) -> bool {
        let kind = self.event.kind();
        matches!(kind, "capture.gap" | "trace.tamper") || kind.starts_with("reconcile.")
    }
}

/// The tool whose arguments a record commits to.
pub(crate) fn tool<'e>(event: &Event<'e>) -> Option<&'e str> {
    event.data_text("tool").or_else(|| event.data().pointer("/binding/tool").and_then(Value::as_str))
}
