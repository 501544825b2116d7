//! A witness of logs (C2SP tlog-witness): one call, and one file for each log with the newest checkpoint it has seen.

use super::Failure;
use super::serve::{listen, stopped};
use crate::cli::Witness;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use canon::Digest;
use env::Source;
use http::{HeaderValue, StatusCode, header};
use keys::{Algorithm, PublicKey, SoftwareSigner};
use ledger::note::{Checkpoint, KeyName, KeyType, Note, Pins, VerifierKey};
use ledger::witness::{CALL, MAX_REQUEST, Refused, Request, SIZE, judge};
use std::collections::HashMap;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub async fn run(arguments: Witness) -> Result<(), Failure> {
    let name: KeyName = arguments.name.parse().map_err(Failure::unusable_by)?;
    let logs = arguments.logs.iter().map(|key| log_key(key)).collect::<Result<Vec<_>, _>>()?;
    let desk = Desk::open(&arguments.data, name, logs)?;
    let listener = listen(&arguments.listen).await?;
    let address = listener.local_addr().map_err(Failure::unusable_by)?;
    let banner = format!("witness listens on {address}\n  key  {}\n", desk.key);
    // A server does not end because nobody reads what it says.
    let _ = std::io::stdout().lock().write_all(banner.as_bytes());
    let router = Router::new()
        .route(&format!("/{CALL}"), post(add_checkpoint))
        .layer(DefaultBodyLimit::max(MAX_REQUEST))
        .with_state(Arc::new(desk));
    axum::serve(listener, router).with_graceful_shutdown(stopped()?).await.map_err(Failure::unusable_by)
}

/// What the witness knows: the logs it was told of, and the newest checkpoint of each that it has seen.
struct Desk {
    folder: PathBuf,
    name: KeyName,
    signer: SoftwareSigner,
    key: VerifierKey,
    logs: Vec<VerifierKey>,
    /// Held from the comparison until the new checkpoint is on disk and signed.
    seen: Mutex<HashMap<KeyName, Checkpoint>>,
    /// Two witnesses on one folder would each believe its own memory.
    _lock: std::fs::File,
}

impl Desk {
    /// Opens or makes the folder and the key. Refuses a folder in use by another witness, and a kept checkpoint that its log
    /// did not sign: one that cannot be read must not count as never seen.
    fn open(folder: &Path, name: KeyName, logs: Vec<VerifierKey>) -> Result<Self, Failure> {
        let shown = |error: std::io::Error| at(folder, &error);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(shown)?;
        let lock = lock(folder)?;
        let signer = SoftwareSigner::open_or_create(
            &folder.join("witness.jwk"),
            Algorithm::Ed25519,
            &mut env::System.env(),
        )
        .map_err(Failure::unusable_by)?;
        let PublicKey::Ed25519(public) = keys::Signer::public(&signer) else {
            return Err(Failure::unusable("the witness's key is not Ed25519"));
        };
        let key = VerifierKey::new(name.clone(), KeyType::Witness, public);
        let mut seen = HashMap::new();
        for origin in logs.iter().map(VerifierKey::name) {
            let path = place(folder, origin);
            let bytes = match std::fs::read(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                read => read.map_err(|error| at(&path, &error))?,
            };
            let refused = |error: ledger::Error| Failure::unusable(format!("{}: {error}", path.display()));
            let own = logs.iter().filter(|key| key.name() == origin).cloned().collect();
            let pins = Pins::new(own, Vec::new(), 0).map_err(refused)?;
            let note = Note::parse(&bytes).map_err(refused)?;
            let signed = note.verify(&pins).map_err(refused)?;
            seen.insert(origin.clone(), signed.checkpoint().clone());
        }
        Ok(Self { folder: folder.to_owned(), name, signer, key, logs, seen: Mutex::new(seen), _lock: lock })
    }

    /// The line for a checkpoint that goes on from the one seen last. Blocks until the checkpoint is durable.
    fn cosign(&self, body: &[u8]) -> Result<String, No> {
        let request = Request::parse(body)?;
        let new = request.note.unverified().clone();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        judge(&request, &self.logs, seen.get(&new.origin))?;
        // From here on this very checkpoint may be asked for again, whatever happens to the answer.
        keep(&place(&self.folder, &new.origin), &request.note.to_string()).map_err(No::Disk)?;
        seen.insert(new.origin.clone(), new);
        request.note.cosign(self.name.clone(), &self.signer, env::System.now()).map_err(No::Signer)
    }
}

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
enum No {
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("the checkpoint could not be kept: {0}")]
    Disk(std::io::Error),
    #[error("{0}")]
    Signer(ledger::Error),
}

type Answer = (StatusCode, [(header::HeaderName, HeaderValue); 1], String);

async fn add_checkpoint(State(desk): State<Arc<Desk>>, body: Bytes) -> Answer {
    let plain = |status, text: String| {
        (status, [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))], text)
    };
    let cosigned = tokio::task::spawn_blocking(move || desk.cosign(&body)).await;
    match cosigned {
        Ok(Ok(line)) => plain(StatusCode::OK, format!("{line}\n")),
        Ok(Err(No::Refused(Refused::Conflict { size }))) => {
            let kind = HeaderValue::from_static(SIZE);
            (StatusCode::CONFLICT, [(header::CONTENT_TYPE, kind)], format!("{size}\n"))
        }
        Ok(Err(No::Refused(refused))) => {
            let status = StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::BAD_REQUEST);
            plain(status, format!("{refused}\n"))
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "a checkpoint was not cosigned");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "this witness cannot cosign right now\n".to_owned())
        }
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "this witness failed\n".to_owned()),
    }
}

fn log_key(text: &str) -> Result<VerifierKey, Failure> {
    let key: VerifierKey = text.parse().map_err(|error| Failure::unusable(format!("{text}: {error}")))?;
    match key.kind() {
        KeyType::Log => Ok(key),
        KeyType::Witness => Err(Failure::unusable(format!("{text}: the key of a witness, not of a log"))),
    }
}

fn lock(folder: &Path) -> Result<std::fs::File, Failure> {
    let path = folder.join("lock");
    let file = std::fs::File::create(&path).map_err(|error| at(&path, &error))?;
    file.try_lock().map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    Ok(file)
}

fn place(folder: &Path, origin: &KeyName) -> PathBuf {
    folder.join(format!("{}.checkpoint", Digest::of(origin.as_str().as_bytes())))
}

/// Written beside, synced, put into place, and the place synced: whatever cuts it short, the old or the new one is there.
fn keep(path: &Path, note: &str) -> std::io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(note.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    std::fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unusable(format!("{}: {error}", path.display()))
}
