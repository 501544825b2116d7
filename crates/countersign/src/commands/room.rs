//! What the operator of a server may do without a seat: list rooms, export what is not private, let an owner in.

use super::Failure;
use crate::cli::{Room, Setup};
use crate::config::Config;
use crate::house::House;
use approvals::{OrgId, Role};
use ledger::{Aggregate, StreamId};
use pxp::{RoomId, Scope, Viewer};
use server::App;
use std::io::Write;

const PAGE: usize = 500;

pub async fn run(command: Room) -> Result<(), Failure> {
    match command {
        Room::Erase(arguments) => super::keep::erase(&arguments).await,
        Room::List(setup) => list(&open(&setup).await?).await,
        Room::Export { setup, room, out } => {
            let app = open(&setup).await?;
            let room: RoomId = room.parse().map_err(Failure::unusable_by)?;
            let bytes = app
                .bundle_for(Viewer::Share(Scope::Transcript), &room)
                .await
                .map_err(Failure::unusable_by)?;
            match out {
                Some(path) => std::fs::write(&path, bytes)
                    .map_err(|error| Failure::unusable(format!("{}: {error}", path.display()))),
                None => std::io::stdout().lock().write_all(&bytes).map_err(Failure::unusable_by),
            }
        }
    }
}

/// A new enrolment link for the first owner of each organization.
pub async fn owner(setup: Setup) -> Result<(), Failure> {
    let app = open(&setup).await?;
    for first in app.found_organizations().await.map_err(Failure::unusable_by)? {
        println!("{}  {}", first.org, first.link);
    }
    for name in app.config().organizations.clone() {
        let org = OrgId(name);
        let state = app.organization(&org).await.map_err(Failure::unusable_by)?;
        let Some(owner) = state.members().find(|member| member.roles.contains(&Role::Owner)) else {
            continue;
        };
        let link = app.invite_by_server(&org, &owner.id).await.map_err(Failure::unusable_by)?;
        println!("{org}  {link}");
    }
    Ok(())
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
    House::open(Config::load(setup.config.as_deref(), None)?).await?.app()
}
