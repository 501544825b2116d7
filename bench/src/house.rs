//! A server in a process of its own, and connections that cost the load program little.

use crate::Outcome;
use env::{Source, System};
use keys::{Algorithm, Signer, SoftwareSigner};
use serde_json::{Value, json};
use server::mandates::Setup;
use server::{App, Config, Parts, Silent};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;
use store::{Journal, Log, ServerKey, Sqlite};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the program is started with to be the server.
const ASK: &str = "be-the-server";

/// A running server. Stopped when dropped.
pub struct House {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

/// What a server keeps of mandates: what they stand on, and each document with its vault.
pub type Kept = (Setup, Vec<(Vec<u8>, mandate::Vault)>);

/// Serves if this process was started for that by [`House::start`], until its standard input ends. Gives whether it did.
pub fn serve_if_asked() -> Outcome<bool> {
    serve_if_asked_with(async || Ok(None))
}

/// The same, with mandates.
pub fn serve_if_asked_with(kept: impl AsyncFnOnce() -> Outcome<Option<Kept>>) -> Outcome<bool> {
    let mut arguments = std::env::args().skip(1);
    let (Some(ASK), Some(folder)) = (arguments.next().as_deref(), arguments.next()) else { return Ok(false) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async { serve(Path::new(&folder), kept().await?).await })?;
    Ok(true)
}

impl House {
    /// Starts this program again as a server on a fresh SQLite store in the working folder, so that the disk is the one
    /// beneath it and not one in memory.
    pub fn start() -> Outcome<Self> {
        Self::over(tempfile::tempdir_in(".")?)
    }

    /// The same over a store that is there already.
    pub fn over(folder: tempfile::TempDir) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(ASK)
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, port: line.trim().parse()?, folder })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server's resident memory now and at its most, MB.
    pub fn memory(&self) -> Outcome<(f64, f64)> {
        let status = std::fs::read_to_string(PathBuf::from(format!("/proc/{}/status", self.child.id())))?;
        let field = |name: &str| -> Outcome<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such field")?;
            let kib: f64 = line.split_whitespace().next().ok_or("no value")?.parse()?;
            Ok(kib * 1024.0 / 1e6)
        };
        Ok((field("VmRSS:")?, field("VmHWM:")?))
    }

    /// As requests name it.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub async fn connect(&self) -> Outcome<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, port: self.port })
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One kept-alive HTTP/1.1 connection, one request at a time.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    port: u16,
}

/// An answer, and when its last byte had come.
#[derive(Debug)]
pub struct Answer {
    pub at: Instant,
    pub body: Value,
}

impl Connection {
    /// A request of the HTTP API. Refusals are errors.
    pub async fn call(&mut self, method: &str, path: &str, secret: &str, body: &Value) -> Outcome<Answer> {
        let authorization =
            if secret.is_empty() { String::new() } else { format!("authorization: Bearer {secret}\r\n") };
        self.exchange(method, path, &authorization, body).await
    }

    /// A document posted as it is; the answer as it came, and when. Refusals are errors.
    pub async fn post(&mut self, path: &str, secret: &str, body: &str) -> Outcome<(Instant, Vec<u8>)> {
        let authorization = format!("authorization: Bearer {secret}\r\n");
        self.write("POST", path, &authorization, body).await?;
        match self.response().await? {
            (200, answer, at) => Ok((at, answer)),
            (status, answer, _) => {
                Err(format!("{path}: {status} {}", String::from_utf8_lossy(&answer)).into())
            }
        }
    }

    /// A tool called over MCP, 2025-11-25: its structured content. Refusals are errors.
    pub async fn tool(&mut self, name: &str, arguments: &Value) -> Outcome<Answer> {
        const HEADERS: &str =
            "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n";
        let params = json!({ "name": name, "arguments": arguments });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let Answer { at, mut body } = self.exchange("POST", "/mcp", HEADERS, &message).await?;
        let result = body.get_mut("result").map(Value::take).unwrap_or_default();
        match result.get("structuredContent") {
            Some(content) if result.get("isError") != Some(&Value::Bool(true)) => {
                Ok(Answer { at, body: content.clone() })
            }
            _ => Err(format!("{name}: {body} {result}").into()),
        }
    }

    /// The same with headers of one's own, each with its line end.
    pub async fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &Value,
    ) -> Outcome<Answer> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.write(method, path, headers, &body).await?;
        let (status, body, at) = self.response().await?;
        if !(200..300).contains(&status) {
            return Err(format!("{method} {path}: {status} {}", String::from_utf8_lossy(&body)).into());
        }
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        Ok(Answer { at, body })
    }

    async fn write(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Outcome {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}\r\n{body}",
            self.port,
            body.len()
        );
        Ok(self.stream.write_all(request.as_bytes()).await?)
    }

    async fn response(&mut self) -> Outcome<(u16, Vec<u8>, Instant)> {
        let mut bytes = Vec::with_capacity(4096);
        loop {
            if self.stream.read_buf(&mut bytes).await? == 0 {
                return Err("the server closed the connection".into());
            }
            let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = String::from_utf8(bytes.get(..end).unwrap_or_default().to_vec())?.to_ascii_lowercase();
            let mut body = bytes.split_off(end + 4);
            let status = head.split_whitespace().nth(1).ok_or("no status")?.parse()?;
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.ok_or("an answer without a length")?.trim().parse()?;
            while body.len() < length {
                if self.stream.read_buf(&mut body).await? == 0 {
                    return Err("the server closed the connection".into());
                }
            }
            return Ok((status, body, Instant::now()));
        }
    }
}

/// One side of a room.
#[derive(Debug, Clone)]
pub struct Seat {
    pub room: String,
    pub link: String,
    pub secret: String,
}

/// Opens a room whose first card is sealed. Gives that seat and the invite's secret.
pub async fn open(connection: &mut Connection) -> Outcome<(Seat, String)> {
    let body = json!({
        "topic": "Hall hire", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }], "max_turns": 1000,
    });
    let opened = connection.call("POST", "/api/rooms", "", &body).await?.body;
    let room = text(&opened, "/room_id")?;
    let link = text(&opened, "/your_link")?;
    let seat = Seat { secret: secret(&link)?, room, link };
    seal(connection, &seat, "Ana").await?;
    Ok((seat, secret(&text(&opened, "/invites/0/link")?)?))
}

/// Takes the other seat and seals its card: the room negotiates, and it is the first seat's turn.
pub async fn join(connection: &mut Connection, room: &str, invite: &str) -> Outcome<Seat> {
    let path = format!("/api/rooms/{room}/seat");
    let joined = connection.call("POST", &path, invite, &json!({ "agent": "Agent B" })).await?.body;
    let link = text(&joined, "/your_link")?;
    let seat = Seat { room: room.to_owned(), secret: secret(&link)?, link };
    seal(connection, &seat, "Ben").await?;
    Ok(seat)
}

pub fn text(value: &Value, place: &str) -> Outcome<String> {
    let found = value.pointer(place).and_then(Value::as_str);
    Ok(found.ok_or_else(|| format!("no {place} in {value}"))?.to_owned())
}

async fn seal(connection: &mut Connection, seat: &Seat, name: &str) -> Outcome {
    let card = json!({
        "principal": { "name": name },
        "goal": "Rent the hall",
        "must_haves": ["Seats for the guests"],
        "may_agree_to": ["A fair price for the hall"],
        "known_facts": ["Guests are confirmed"],
    });
    connection.call("PUT", &format!("/api/rooms/{}/card", seat.room), &seat.secret, &card).await?;
    Ok(())
}

fn secret(link: &str) -> Outcome<String> {
    Ok(link.rsplit_once('=').ok_or("a link without a secret")?.1.to_owned())
}

/// A whole server, its log and its effects included, without limits on how often: all requests come from one address.
async fn serve(folder: &Path, kept: Option<Kept>) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let mut config = Config { public_url: format!("http://localhost:{port}").parse()?, ..Config::default() };
    config.limits.address_per_minute = 0;
    config.limits.credential_per_minute = 0;
    config.limits.rooms_per_day = 0;
    let key = ServerKey::open(&folder.join("store.key"))?;
    let journal: Arc<dyn Journal> = Arc::new(Sqlite::open(&folder.join("journal.db"), key)?);
    let source: Arc<dyn Source> = Arc::new(System);
    let signer: Arc<dyn Signer> = Arc::new(SoftwareSigner::generate(Algorithm::Ed25519, &mut source.env())?);
    let log = Log::new(
        Arc::clone(&journal),
        Arc::clone(&source),
        Arc::clone(&signer),
        "bench.example/log".parse()?,
    );
    let fetch = fetch::Client::new(fetch::Policy::default())?;
    let notifier = Arc::new(Silent);
    let (mandates, anchored) = kept.map_or_else(|| (None, Vec::new()), |(setup, all)| (Some(setup), all));
    let app = App::new(Parts { config, journal, source, signer, log: Some(log), fetch, notifier, mandates })?;
    app.found_organizations().await?;
    for (document, vault) in anchored {
        app.anchor_mandate(&document, vault, None).await.map_err(|refused| refused.text)?;
    }
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = stop.send(());
    });
    println!("{port}");
    server::serve(&app, server::router(&app), listener, async {
        let _ = stopped.await;
    })
    .await;
    Ok(())
}

impl std::fmt::Debug for House {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("House").field("port", &self.port).finish_non_exhaustive()
    }
}
