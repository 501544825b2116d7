//! Seats this server plays itself, and the scripted demonstration.

use super::answers::Trouble;
use super::{V0, Wanted, lock};
use futures::FutureExt;
use pxp::v0::brief::brief;
use pxp::v0::{Command, Mode, Phase, Reply, Side, State, Via, demo, mcp};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

impl V0 {
    /// Plays what is due in the room, in the background. A room's turns are played one after the other.
    pub(super) fn drive(&self, id: &str) {
        let (v0, id) = (self.clone(), id.to_owned());
        tokio::spawn(async move {
            let driver = Arc::clone(lock(&v0.0.drivers).entry(id.clone()).or_default());
            {
                let _alone = driver.lock().await;
                if let Err(trouble) = v0.play(&id).await {
                    tracing::debug!(code = trouble.code, "a built-in turn was not played");
                }
            }
            drop(driver);
            lock(&v0.0.drivers).retain(|_, driver| Arc::strong_count(driver) > 1);
        });
    }

    async fn play(&self, id: &str) -> Result<(), Trouble> {
        let Some(proxy) = self.0.proxy.clone() else { return Ok(()) };
        loop {
            let (reply, state) = self.run(id, Command::Call).await?;
            let (Reply::Called(true), Some(side)) = (reply, state.in_flight) else {
                return self.map_authority(id, &state).await;
            };
            let view = mcp::view(&state, side, "", "");
            let view = serde_json::to_value(&view).map_err(|_| Trouble::bug())?;
            // A proxy that panics has failed; what it said goes nowhere.
            let said = AssertUnwindSafe(proxy.turn(view)).catch_unwind().await;
            let said = said.ok().and_then(Result::ok);
            let raw = said.as_deref().and_then(|text| canon::parse(text.as_bytes()).ok());
            match raw {
                Some(raw) => {
                    let raw = raw.to_owned();
                    self.run(id, Command::Send { side, raw, by: Mode::BuiltIn }).await?;
                }
                None => {
                    self.run(id, Command::Fail).await?;
                    return Ok(());
                }
            }
        }
    }

    /// Asks the model once what the terms of an agreement rest on. Its failure leaves the agreement as it is.
    async fn map_authority(&self, id: &str, state: &State) -> Result<(), Trouble> {
        let built_in = Side::BOTH.iter().any(|side| state.seat(*side).mode == Mode::BuiltIn);
        let asked = state.ledger.iter().any(|entry| entry.kind == "authority_called");
        let (Some(proxy), Some(brief)) = (self.0.proxy.clone(), brief(state)) else { return Ok(()) };
        if state.phase != Phase::Agreed || !built_in || asked {
            return Ok(());
        }
        let (Reply::Called(true), _) = self.run(id, Command::CallAuthority).await? else { return Ok(()) };
        let brief = serde_json::to_value(&brief).map_err(|_| Trouble::bug())?;
        let map = AssertUnwindSafe(proxy.authority(brief)).catch_unwind().await;
        if let Ok(Ok(map)) = map {
            self.run(id, Command::Authority(map)).await?;
        }
        Ok(())
    }

    /// Opens a demo and plays it up to its question.
    pub(super) async fn open_demo(&self) -> Result<(String, String), Trouble> {
        let wanted = Wanted {
            topic: demo::TOPIC.to_owned(),
            names: demo::NAMES.map(str::to_owned),
            modes: [Mode::BuiltIn; 2],
            passcode: String::new(),
            agent: None,
        };
        let opened = self.begin(wanted, None, true).await?;
        for side in Side::BOTH {
            let card = demo::card(side);
            self.run(&opened.id, Command::Seal { side, card, via: Via::Web, label: None }).await?;
        }
        self.play_demo(&opened.id).await?;
        let [token, _] = opened.tokens;
        Ok((opened.id, token))
    }

    pub(super) async fn play_demo(&self, id: &str) -> Result<(), Trouble> {
        loop {
            let state = self.state(id).await?;
            match demo::next(&state) {
                Some((side, raw)) => {
                    self.run(id, Command::Send { side, raw, by: Mode::BuiltIn }).await?;
                }
                None if state.phase == Phase::Agreed => {
                    self.run(id, Command::Authority(demo::authority(&state))).await?;
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }
}
