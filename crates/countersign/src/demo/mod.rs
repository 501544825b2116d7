//! A whole room between two scripted agents, over real MCP on this machine, and a mandate at work on an embedded ledger; each
//! ends in proofs anyone can check.

mod agent;
mod billing;
mod cast;
mod mandate;
mod market;
mod record;
mod script;

use crate::cli::{Demo, Part};
use crate::commands::{Failure, serve, verify as verdict};
use crate::config::Config;
use crate::house::House;
use approvals::OrgId;
use keys::{Algorithm, Signer, SoftwareSigner};
use pxp::brief::Known;
use pxp::{AnswerInput, QuestionId, RoomId, Ruling, SeatId};
use serde_json::Value;
use server::{App, Caller, Enrolment, EvidenceInput, Link, Matter};
use std::time::Duration;
use tokio::sync::oneshot;

pub async fn run(arguments: Demo) -> Result<(), Failure> {
    let folder = tempfile::tempdir().map_err(Failure::unusable_by)?;
    let listener = match serve::listen(&arguments.listen).await {
        Ok(listener) => listener,
        Err(taken) => {
            println!("({}; taking a free port instead)", taken.reason);
            serve::listen("127.0.0.1:0").await?
        }
    };
    let mut address = listener.local_addr().map_err(Failure::unusable_by)?;
    // Whatever it listens on, the players come from this machine.
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let config = Config::for_demo(address, folder.path())?;
    let public = config.server.link("");
    let house = House::open(config.clone()).await?;
    let servers: Vec<_> = house.ring.keys().iter().map(|key| key.key).collect();
    let trust = crate::commands::keys::trust(&config, servers.iter())?;
    let pinned = verify::Trust::parse(trust.as_bytes()).map_err(Failure::unusable_by)?;
    let cast = match arguments.part {
        Some(Part::Room) => None,
        _ => Some(cast::Cast::assemble(folder.path()).await?),
    };
    let market = market::Market::open().await?;
    let (setup, secret) = cast.as_ref().map(|cast| mandate::setup(cast, &market)).transpose()?.unzip();
    let app = house.app_with(setup)?;
    app.found_organizations().await.map_err(Failure::unusable_by)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let recorder = record::Recorder::default();
    let mut routes = serve::routes(&app);
    if arguments.record.is_some() {
        routes = routes.layer(axum::middleware::from_fn_with_state(recorder.clone(), record::listen));
    }
    let served = serve::start(app.clone(), routes, listener, async move {
        let _ = stopped.await;
    });
    println!("Countersign demo. Everything stays on this machine.\n");
    println!("  server     {public}  (SQLite in a temporary folder)");
    let proofs = folder.path().join("proofs");
    std::fs::create_dir(&proofs).map_err(Failure::unusable_by)?;
    if arguments.part != Some(Part::Mandate) {
        println!("\nTwo agents, two people, one room.\n");
        let room = play(&app, &format!("http://{address}/mcp")).await?;
        prove(&app, &room, &proofs, &pinned).await?;
    }
    if let Some((cast, secret)) = cast.as_ref().zip(secret) {
        println!("\nAn agent with an allowance, on an embedded ledger that plays {}.\n", mandate::network());
        let story = mandate::Story::begin(&app, cast, secret, &address.to_string()).await?;
        story.play(&market, &proofs, &pinned).await?;
        if let Some(file) = &arguments.record {
            recorder.finish(&story, &public, file).await?;
        }
    }
    if arguments.exit {
        keep(&proofs, &trust)?;
    } else {
        let owner = owner_link(&app).await?;
        println!(
            "\nLook around: {owner}\n(the link lets you in once, as this demo's owner; end with Ctrl-C)"
        );
        tokio::signal::ctrl_c().await.map_err(Failure::unusable_by)?;
    }
    drop(stop);
    served.await.map_err(Failure::unusable_by)
}

/// Plays the script; a line for each step.
async fn play(app: &App, mcp: &str) -> Result<RoomId, Failure> {
    let mut ana = agent::Agent::connect(mcp, "Ana's agent").await?;
    let mut ben = agent::Agent::connect(mcp, "Ben's agent").await?;
    step("agents", "two MCP clients are connected");

    let opened = ana.call("create_room", script::room()).await?;
    let room: RoomId = text(&opened, "room_id")?.parse().map_err(Failure::unusable_by)?;
    // No agent is given its principal's link: whoever runs the server has it, here this process.
    let own = app.doors().of(&room, SeatId::A).ok_or_else(|| Failure::refused("Ana has no link"))?;
    let person = Person::enrol(app, &room, &own.link).await?;
    ben.link = text(&opened, "invite_link_for_counterpart")?;
    let joined = ben.call("join_room", serde_json::json!({"agent_name": "Ben's agent"})).await?;
    ben.link = text(&joined, "your_link")?;
    ana.link = text(&opened, "your_link")?;
    step("room", &format!("{room} is open; Ben's agent took the one-time invite"));

    ana.call("seal_intent_card", script::ana_card()).await?;
    ben.call("seal_intent_card", script::ben_card()).await?;
    step("cards", "both intent cards are sealed; each side sees only the other's hash");

    ana.call("send_envelope", script::opening()).await?;
    step("claims", "Ana's agent makes three claims: stated, sourced, assumed; and offers 850 EUR");

    let turn = ben.call("wait_for_turn", serde_json::json!({"timeout_seconds": 20})).await?;
    let countered = ben.call("send_envelope", script::counter(&claims(&turn))).await?;
    let offer = accepted(&countered, "offer_hash")?;
    step("challenge", "Ben's agent challenges the assumption and counters with 950 EUR");

    let turn = ana.call("wait_for_turn", serde_json::json!({"timeout_seconds": 20})).await?;
    let asked = ana.call("send_envelope", script::escalation(&claims(&turn), &offer)).await?;
    let question: QuestionId = accepted(&asked, "question_id")?.parse().map_err(Failure::unusable_by)?;
    step("escalation", "950 EUR is beyond Ana's limit, so her agent must ask her; the room waits");

    person.allow(app, question).await?;
    step("answer", "Ana allows exactly this offer, signed with her own key over the brief she was shown");

    ana.call("send_envelope", script::agreement(&offer)).await?;
    step("agreement", &format!("Ana's agent accepts the offer by its exact hash {}", short(&offer)));

    ana.close().await;
    ben.close().await;
    Ok(room)
}

/// Prints the brief, writes the bundle and judges it with the offline verifier.
async fn prove(
    app: &App,
    room: &RoomId,
    folder: &std::path::Path,
    trust: &verify::Trust,
) -> Result<(), Failure> {
    let (state, head) = app.room_state(room).await.map_err(Failure::unusable_by)?;
    let own = pxp::view::brief(&state, pxp::Viewer::Principal(SeatId::A))
        .ok_or_else(|| Failure::refused("the room has no brief"))?;
    let text = pxp::brief::text(&own.brief, &Known::of_view(Some(SeatId::A), &own));
    println!("\nThe brief, as Ana may read it:\n\n{}", text.map_err(Failure::unusable_by)?);
    in_log(app, room, head.seq).await?;
    let viewer = pxp::Viewer::Share(pxp::Scope::Transcript);
    let bundle = app.bundle_for(viewer, room).await.map_err(Failure::unusable_by)?;
    let path = folder.join("room.bundle.json");
    std::fs::write(&path, &bundle).map_err(Failure::unusable_by)?;
    let report = verify::verify(&bundle, Some(trust));
    println!("countersign verify room.bundle.json --trust trust.json\n{}", verdict::shown(&report));
    if report.verdict == verify::Verdict::Valid {
        Ok(())
    } else {
        Err(Failure::refused("the bundle does not verify"))
    }
}

/// Waits until the room's last entry is under the log's signed checkpoint, a fraction of a second.
async fn in_log(app: &App, room: &RoomId, seq: u64) -> Result<(), Failure> {
    let Some(log) = app.log() else { return Ok(()) };
    let stream = room.stream().parse().map_err(Failure::unusable_by)?;
    let proven = async {
        loop {
            match log.proof(&stream, seq).await {
                Ok(None) => tokio::time::sleep(Duration::from_millis(50)).await,
                found => return found.map(drop),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), proven)
        .await
        .map_err(|_| Failure::refused("the log did not take the room within ten seconds"))?
        .map_err(Failure::unusable_by)
}

/// Leaves the proofs where they can be looked at after the temporary folder is gone.
fn keep(proofs: &std::path::Path, trust: &str) -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("countersign-demo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(Failure::unusable_by)?;
    for proof in std::fs::read_dir(proofs).map_err(Failure::unusable_by)? {
        let proof = proof.map_err(Failure::unusable_by)?;
        std::fs::copy(proof.path(), folder.join(proof.file_name())).map_err(Failure::unusable_by)?;
    }
    std::fs::write(folder.join("trust.json"), trust).map_err(Failure::unusable_by)?;
    println!("\nkept: {}", folder.display());
    Ok(())
}

/// Ana herself: she took her link, and answers with a key that no agent has.
struct Person {
    signer: SoftwareSigner,
    room: RoomId,
    caller: Caller,
}

impl Person {
    async fn enrol(app: &App, room: &RoomId, link: &str) -> Result<Self, Failure> {
        let signer =
            SoftwareSigner::generate(Algorithm::Ed25519, &mut app.env()).map_err(Failure::unusable_by)?;
        let link = Link::parse(&app.config().public_url, link).map_err(Failure::unusable_by)?;
        let none = http::HeaderMap::new();
        let by_link = app.authenticate(&none, Some(&link)).await.map_err(Failure::unusable_by)?;
        let secret = app
            .enrol_principal(&by_link, None, room, Enrolment::Key(signer.public()), None)
            .await
            .map_err(Failure::unusable_by)?;
        let own = Link { room: room.clone(), secret };
        let caller = app.authenticate(&none, Some(&own)).await.map_err(Failure::unusable_by)?;
        Ok(Self { signer, room: room.clone(), caller })
    }

    /// Reads what is asked, signs the statement over it, and answers.
    async fn allow(&self, app: &App, question_id: QuestionId) -> Result<(), Failure> {
        let answer = AnswerInput {
            question_id,
            ruling: Ruling::Allow,
            clears: Vec::new(),
            text: "Yes, 950 EUR is all right for this hall, but not more.".to_owned(),
            public_summary: None,
            limits: Vec::new(),
        };
        let matter = Matter::Question(answer);
        let prepared = app.prepare(&self.caller, &self.room, &matter).await.map_err(Failure::unusable_by)?;
        let statement = prepared.statement.hash();
        let signature = self.signer.sign(statement.as_bytes()).map_err(Failure::unusable_by)?;
        let evidence = EvidenceInput::Ed25519 {
            thumbprint: self.signer.public().thumbprint().to_string(),
            signature: signature.base64url(),
        };
        app.decide(&self.caller, &self.room, matter, prepared.nonce, evidence, None)
            .await
            .map_err(Failure::unusable_by)?;
        Ok(())
    }
}

async fn owner_link(app: &App) -> Result<String, Failure> {
    let org = OrgId("home".to_owned());
    let state = app.organization(&org).await.map_err(Failure::unusable_by)?;
    let owner = state.members().next().ok_or_else(|| Failure::refused("the demo has no owner"))?;
    app.invite_by_server(&org, &owner.id).await.map_err(Failure::unusable_by)
}

fn step(name: &str, what: &str) {
    println!("  {name:<10} {what}");
}

fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

fn text(value: &Value, name: &str) -> Result<String, Failure> {
    let found = value.get(name).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| Failure::refused(format!("the server gave no {name}")))
}

fn accepted(value: &Value, name: &str) -> Result<String, Failure> {
    text(value.get("accepted_envelope").unwrap_or(&Value::Null), name)
}

/// The ids of the claims that wait for this side's review, in order.
fn claims(turn: &Value) -> Vec<String> {
    let waiting = turn.get("claims_to_review").and_then(Value::as_array);
    waiting.into_iter().flatten().filter_map(|claim| Some(claim.get("id")?.as_str()?.to_owned())).collect()
}
