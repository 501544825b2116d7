//! What the operator of a server may do without a seat: list rooms, export what is not private, let an owner in.

use super::Failure;
use crate::cli::{Room, Setup, What};
use crate::config::Config;
use crate::house::House;
use approvals::{OrgId, Role};
use ledger::{Aggregate, StreamId};
use pxp::brief::{Known, text};
use pxp::bundle::{BriefProof, Bundle};
use pxp::{RoomId, Scope, Viewer};
use server::App;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use verify::Verdict;

const PAGE: usize = 500;

pub async fn run(command: Room) -> Result<(), Failure> {
    match command {
        Room::Erase(arguments) => super::keep::erase(&arguments).await,
        Room::List(setup) => list(&open(&setup).await?).await,
        Room::Export { setup, room, what, out } => {
            let app = open(&setup).await?;
            let room: RoomId = room.parse().map_err(Failure::unusable_by)?;
            export(&app, &room, what, out.as_deref()).await
        }
        Room::Brief { setup, room } => {
            let path = Path::new(&room);
            let text = if path.is_file() {
                let bytes = std::fs::read(path)
                    .map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
                told(&bytes)?
            } else {
                let room: RoomId = room.parse().map_err(Failure::unusable_by)?;
                let (state, _) = open(&setup).await?.room_state(&room).await.map_err(Failure::unusable_by)?;
                let recorded = state.brief.as_ref().and_then(|recorded| recorded.brief.as_ref());
                let brief = recorded.ok_or_else(|| Failure::refused("the room has no brief yet"))?;
                text(brief, &Known::default()).map_err(Failure::unusable_by)?
            };
            std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::unusable_by)
        }
    }
}

/// Writes to the file only what is whole: one that is there stays as it is when anything fails.
async fn export(app: &App, room: &RoomId, what: What, out: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = out else { return write(app, room, what, &mut std::io::stdout().lock()).await };
    let failed = |error: std::io::Error| Failure::unusable(format!("{}: {error}", path.display()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| Failure::unusable(format!("{}: no file", path.display())))?;
    let part = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let mut to = BufWriter::new(File::create_new(&part).map_err(failed)?);
    let written = write(app, room, what, &mut to).await;
    drop(to);
    match written {
        Ok(()) => std::fs::rename(&part, path).map_err(failed),
        Err(failure) => {
            let _ = std::fs::remove_file(&part);
            Err(failure)
        }
    }
}

async fn write(app: &App, room: &RoomId, what: What, to: &mut impl Write) -> Result<(), Failure> {
    let viewer = Viewer::Share(Scope::Transcript);
    match what {
        What::Bundle => {
            let bytes = app.bundle_for(viewer, room).await.map_err(Failure::unusable_by)?;
            to.write_all(&bytes).map_err(Failure::unusable_by)?;
        }
        What::Brief => {
            let bytes = app.brief_proof_for(viewer, room).await.map_err(Failure::unusable_by)?;
            to.write_all(&bytes).map_err(Failure::unusable_by)?;
        }
        What::Ledger => {
            let mut export = app.ledger_export_for(viewer, room).await.map_err(Failure::unusable_by)?;
            let mut after = None;
            while let Some(lines) = export.lines(&mut after).await.map_err(Failure::unusable_by)? {
                to.write_all(&lines).map_err(Failure::unusable_by)?;
            }
        }
    }
    to.flush().map_err(Failure::unusable_by)
}

/// The brief in a file, with the words that the file shows. A file that does not verify is refused.
fn told(bytes: &[u8]) -> Result<String, Failure> {
    let report = verify::verify(bytes, None);
    match report.verdict {
        Verdict::Valid => {}
        Verdict::Refused | Verdict::Unproven => {
            return Err(Failure::refused(report.code.unwrap_or_default()));
        }
        Verdict::Unusable => return Err(Failure::unusable(report.code.unwrap_or_default())),
    }
    let no_brief = || Failure::refused("there is no brief in this file");
    if let Ok(proof) = canon::from_slice::<BriefProof>(bytes) {
        return text(&proof.brief, &Known::default()).map_err(Failure::unusable_by);
    }
    let bundle = Bundle::parse(bytes).map_err(|_| no_brief())?;
    let brief = bundle.brief.as_ref().ok_or_else(no_brief)?;
    let folded = pxp::bundle::check(&bundle).map_err(|fault| Failure::refused(fault.to_string()))?;
    text(brief, &Known::of_state(&folded.state, brief)).map_err(Failure::unusable_by)
}

/// A new enrolment link for an owner of each organization, the one who has been an owner longest, or for the member named,
/// and whose account it opens. The first start's link where there was none.
pub async fn owner(setup: Setup, named: Option<String>) -> Result<(), Failure> {
    let app = open(&setup).await?;
    let mut found = named.is_none();
    let founded = app.found_organizations().await.map_err(Failure::unusable_by)?;
    for name in app.config().organizations.clone() {
        let org = OrgId(name);
        let state = app.organization(&org).await.map_err(Failure::unusable_by)?;
        let meant = |member: &&approvals::people::Member| match &named {
            Some(id) => member.id.0 == *id,
            None => member.roles.contains(&Role::Owner),
        };
        let members = state.members().filter(|member| member.is_active()).filter(meant);
        let Some(owner) = members.min_by_key(|member| member.owner_since) else { continue };
        found = true;
        let link = match founded.iter().find(|first| first.org == org) {
            Some(first) => first.link.clone(),
            None => app.invite_by_server(&org, &owner.id).await.map_err(Failure::unusable_by)?,
        };
        let who = owner.name.as_deref().unwrap_or_default();
        println!("{org}  {link}  opens the account of {} {}", owner.id, approvals::text::show(who));
    }
    if found { Ok(()) } else { Err(Failure::refused("there is no such member")) }
}

async fn list(app: &App) -> Result<(), Failure> {
    let mut after: Option<StreamId> = None;
    loop {
        let page = app.journal().streams(after.as_ref(), PAGE).await.map_err(Failure::unusable_by)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.clone());
        for stream in page.iter().filter(|stream| stream.kind() == pxp::Room::KIND) {
            let Ok(room) = stream.id().parse::<RoomId>() else { continue };
            let (state, head) = app.room_state(&room).await.map_err(Failure::unusable_by)?;
            println!("{room}  {:<12} {:>5} entries  {}", pxp::view::status(&state), head.seq, head.hash);
        }
    }
}

async fn open(setup: &Setup) -> Result<App, Failure> {
    // The chain is the running server's.
    let config = Config { mandates: None, ..Config::load(setup.config.as_deref(), None)? };
    House::open(config).await?.app()
}
