use super::Failure;
use crate::cli::Serve;
use crate::config::Config;
use crate::house::{self, House};
use axum::Router;
use server::{App, Door};
use std::future::Future;
use std::io::Write;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

/// `attests`: with a signer, whether the configuration has one or not.
pub async fn run(arguments: Serve, attests: bool) -> Result<(), Failure> {
    let mut config = Config::load(arguments.setup.config.as_deref(), arguments.listen.as_deref())?;
    if attests {
        config.evidence.get_or_insert_default();
    }
    let listener = listen(&config.listen.to_string()).await?;
    let address = listener.local_addr().map_err(Failure::unusable_by)?;
    let public = config.server.link("");
    server::collect_metrics();
    let house = House::open(config).await?;
    house::fix_log_origin(&house.config)?;
    let anchored = house.config.mandates.as_ref().map(|own| own.anchored.clone()).unwrap_or_default();
    let data = house.config.data.clone();
    let opened = crate::evidence::open(&house.config, &house.journal).await?;
    let app = house.app()?;
    let mut signer = String::new();
    if let Some(opened) = opened {
        signer = format!("  signer   {}\n", opened.path.display());
        let service = opened.attesting.service.clone();
        app.attest(opened.attesting);
        let stop = app.stopping().clone();
        let stopped = async move { stop.cancelled().await };
        tokio::spawn(signer::socket::serve(service, opened.listener, opened.peers, stopped));
    }
    crate::mandates::anchor(&app, &anchored, &data).await?;
    let links = app.found_organizations().await.map_err(Failure::unusable_by)?;
    let mut banner =
        format!("countersign listens on {address}\n  console  {public}/\n  agents   {public}/mcp\n{signer}");
    for first in links {
        banner.push_str(&format!(
            "\nFirst start of \"{}\". The owner enrols a passkey here, once:\n  {}\n",
            first.org, first.link
        ));
    }
    // A server does not end because nobody reads what it says.
    let _ = std::io::stdout().lock().write_all(banner.as_bytes());
    tokio::spawn(tell_doors(app.doors().follow()));
    let stop = stopped()?;
    start(app.clone(), routes(&app), listener, stop).await.map_err(Failure::unusable_by)
}

/// Prints the link of each person whose agent opened a room or took a seat: this server knows nobody else to give it to.
async fn tell_doors(mut doors: broadcast::Receiver<Door>) {
    loop {
        let text = match doors.recv().await {
            Ok(door) => format!(
                "\nAn agent has a seat for \"{}\" (seat {}). That person answers for it here, once:\n  {}\n",
                pxp::view::shown(&door.name),
                door.seat,
                door.link
            ),
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                format!("\n{missed} rooms more; the owner finds their links under \"Waiting for you\".\n")
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }
}

/// Everything this binary has on the wire.
pub fn routes(app: &App) -> Router<App> {
    server::router(app).merge(console::router())
}

/// Serves it until `stop` resolves and all is wound down.
pub fn start(
    app: App,
    routes: Router<App>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move { server::serve(&app, routes, listener, stop).await })
}

pub async fn listen(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| Failure::unusable(format!("{address}: {error}")))
}

/// Resolves when the process is asked to end.
pub fn stopped() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::unusable_by)?;
    Ok(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    })
}
