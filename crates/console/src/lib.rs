//! The pages people use. Server-rendered HTML that works without scripts for everything that signs nothing; plain
//! JavaScript modules, embedded as they are, for passkeys, live rooms and checking files.
//!
//! Pages decide nothing: each handler asks [`server::App`] and says what it was told. Text that strangers wrote passes
//! [`approvals::text::show`] and the template's escaping, names stand in `<bdi>`.

mod answer;
mod assets;
mod card;
mod entry;
mod evidence;
mod home;
mod manage;
mod mandates;
mod messages;
mod notifications;
mod organization;
mod page;
mod record;
mod room;
mod visitor;
mod words;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use server::App;

/// Every page and form, to be merged into [`server::router`].
pub fn router() -> Router<App> {
    Router::new()
        .route("/", get(home::home))
        .route("/sign-in", get(entry::sign_in))
        .route("/sign-out", post(entry::sign_out))
        .route("/open", get(entry::open_page).post(entry::open))
        .route("/enrol/{org}", get(entry::enrol))
        .route("/recover", get(entry::recover_page).post(entry::recover))
        .route("/verify", get(record::verify))
        .route("/rooms/new", get(room::new))
        .route("/rooms", post(room::open))
        .route("/room/{room}", get(room::room))
        .route("/room/{room}/enter", post(entry::enter))
        .route("/room/{room}/join", post(entry::join))
        .route("/room/{room}/person", post(entry::person))
        .route("/room/{room}/card", get(card::page).post(card::check))
        .route("/room/{room}/card/draft", post(card::draft))
        .route("/room/{room}/card/seal", post(card::seal))
        .route("/room/{room}/claims/{claim}", get(answer::claim).post(answer::answer_claim))
        .route("/room/{room}/claims/{claim}/prepare", post(answer::prepare_claim))
        .route("/room/{room}/claims/{claim}/source", post(manage::source))
        .route("/room/{room}/manage", get(manage::page).post(manage::act))
        .route("/room/{room}/record", get(record::ledger))
        .route("/room/{room}/record.json", get(record::bundle))
        .route("/room/{room}/ledger.jsonl", get(record::export))
        .route("/brief/{room}", get(record::brief))
        .route("/brief/{room}/proof.json", get(record::brief_proof))
        .route("/asks", get(answer::inbox))
        .route("/asks/evidence/{ask}", get(evidence::ask).post(evidence::answer))
        .route("/asks/evidence/{ask}/prepare", post(evidence::prepare))
        .route("/asks/{room}/{ask}", get(answer::ask).post(answer::answer))
        .route("/asks/{room}/{ask}/prepare", post(answer::prepare))
        .route("/people", get(organization::people).post(organization::act_on_people))
        .route("/me", get(organization::me).post(organization::act_on_me))
        .route("/notifications", get(notifications::page).post(notifications::act))
        .route("/push-worker.js", get(assets::worker))
        .route(
            "/messages",
            get(messages::list).post(messages::read).layer(DefaultBodyLimit::max(messages::LONGEST)),
        )
        .route("/messages/{n}", get(messages::one))
        .route("/keys", get(organization::keys).post(organization::act_on_keys))
        .route("/stop", get(organization::stop).post(organization::act_on_stops))
        .route("/favicon.ico", get(assets::icon))
        .route("/static/{hash}/{*path}", get(assets::asset))
        .merge(mandates::routes())
        .layer(DefaultBodyLimit::max(MOST))
}

/// The largest form, bytes.
const MOST: usize = 64 * 1024;
