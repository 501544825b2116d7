//! A private PostgreSQL server for tests, benches and the crash test.
//!
//! The binaries come from `pg_config --bindir`, `/usr/lib/postgresql/*/bin` or `PATH`; the cluster lives in a
//! temporary directory, listens on a unix socket there and nowhere else, and syncs every commit. `DATABASE_URL`
//! names another server instead (its user must be allowed to create databases). A missing server is an error
//! for the caller to fail on, never a reason to skip.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Why there is no server.
#[derive(Debug)]
pub enum PgError {
    /// No `initdb` and `postgres` on this machine; on Debian, `apt-get install postgresql` brings them.
    Missing,
    /// A step failed, with what it said.
    Failed { step: &'static str, said: String },
    /// `DATABASE_URL` names a server that is not ours to kill.
    NotOurs,
}

impl std::fmt::Display for PgError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("no PostgreSQL here: install it, or set DATABASE_URL"),
            Self::Failed { step, said } => write!(f, "PostgreSQL: {step} failed: {said}"),
            Self::NotOurs => f.write_str("the server of DATABASE_URL is not ours to kill"),
        }
    }
}

impl std::error::Error for PgError {}

/// A running server: private and stopped on drop, or the one `DATABASE_URL` names.
#[derive(Debug)]
pub struct Postgres {
    /// URL of the database that exists from the start.
    url: String,
    private: Option<Private>,
}

impl Postgres {
    /// A private server with the settings PostgreSQL comes with, or the server of `DATABASE_URL`.
    pub fn start() -> Result<Self, PgError> {
        match std::env::var("DATABASE_URL") {
            Ok(url) if url.starts_with("postgres") => Ok(Self { url, private: None }),
            _ => Self::private(&[]),
        }
    }

    /// A private server whatever `DATABASE_URL` says, with `settings` such as `shared_buffers=512MB` on top.
    pub fn private(settings: &[&str]) -> Result<Self, PgError> {
        let private = Private::create(settings)?;
        let url = format!("postgres://postgres@localhost/postgres?host={}", private.dir.path().display());
        Ok(Self { url, private: Some(private) })
    }

    /// The server all tests of one process share. It is stopped when the process ends, however it ends.
    pub fn shared() -> Result<&'static Self, String> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start().map_err(|error| error.to_string())).as_ref().map_err(Clone::clone)
    }

    /// Creates an empty database and returns its URL.
    pub async fn database(&self) -> Result<String, PgError> {
        static CREATED: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "countersign_{}_{}_{}",
            std::process::id(),
            CREATED.fetch_add(1, Ordering::Relaxed),
            env::Source::now(&env::System).as_micros()
        );
        self.execute(&format!("CREATE DATABASE {name}")).await?;
        let (address, query) =
            self.url.split_once('?').map_or((self.url.as_str(), None), |(a, q)| (a, Some(q)));
        let server = address.rsplit_once('/').map_or(address, |(server, _)| server);
        Ok(query.map_or_else(|| format!("{server}/{name}"), |query| format!("{server}/{name}?{query}")))
    }

    /// `kill -9` of the postmaster. Its backends notice and end; nothing is flushed.
    pub fn kill(&mut self) -> Result<(), PgError> {
        self.private.as_mut().ok_or(PgError::NotOurs)?.kill()
    }

    /// `kill -9` of one backend that serves clients: the postmaster ends all others and recovers.
    /// `false` if there is none.
    pub fn kill_backend(&self, pick: u64) -> Result<bool, PgError> {
        self.private.as_ref().ok_or(PgError::NotOurs)?.kill_backend(pick)
    }

    /// Starts the server again on the same cluster, with crash recovery where it was killed.
    pub fn restart(&mut self) -> Result<(), PgError> {
        self.private.as_mut().ok_or(PgError::NotOurs)?.launch()
    }

    /// Waits until a client is served, at most 60 s.
    pub async fn ready(&self) -> Result<(), PgError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.execute("SELECT 1").await {
                Err(_) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                other => return other,
            }
        }
    }

    async fn execute(&self, sql: &str) -> Result<(), PgError> {
        use sqlx::{Connection, Executor};
        let failed = |error: sqlx::Error| PgError::Failed { step: "sql", said: error.to_string() };
        let mut connection = sqlx::PgConnection::connect(&self.url).await.map_err(failed)?;
        connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await.map_err(failed)?;
        connection.close().await.map_err(failed)
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct Private {
    dir: tempfile::TempDir,
    bin: PathBuf,
    account: Option<(u32, u32)>,
    server: Option<Child>,
    /// Ends when this process ends, and takes the server along.
    watch: Option<(Child, Option<ChildStdin>)>,
}

impl Private {
    fn create(settings: &[&str]) -> Result<Self, PgError> {
        let bin = binaries().ok_or(PgError::Missing)?;
        let account = account()?;
        let dir = tempfile::Builder::new()
            .prefix("countersign-pg-")
            .tempdir()
            .map_err(failed("temporary directory"))?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).map_err(failed("chmod"))?;
        if let Some((user, group)) = account {
            chown(dir.path(), Some(user), Some(group)).map_err(failed("chown"))?;
        }
        let mut private = Self { dir, bin, account, server: None, watch: None };
        private.initdb(settings)?;
        private.launch()?;
        Ok(private)
    }

    fn initdb(&self, settings: &[&str]) -> Result<(), PgError> {
        let output = self
            .command("initdb")
            .arg("--pgdata")
            .arg(self.data())
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .output()
            .map_err(failed("initdb"))?;
        if !output.status.success() {
            return Err(PgError::Failed {
                step: "initdb",
                said: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        let mut config = format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nmax_connections = 300\n",
            self.dir.path().display()
        );
        for setting in settings {
            config.push_str(setting);
            config.push('\n');
        }
        let path = self.data().join("postgresql.auto.conf");
        fs::write(&path, config).map_err(failed("configuration"))?;
        if let Some((user, group)) = self.account {
            chown(&path, Some(user), Some(group)).map_err(failed("chown"))?;
        }
        Ok(())
    }

    /// Starts the postmaster and waits until it serves. A cluster that was just killed still has backends that
    /// are on their way out, and the new postmaster refuses to start beside them: then it is tried again.
    fn launch(&mut self) -> Result<(), PgError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = fs::File::create(self.log()).map_err(failed("log file"))?;
            let mut server = self
                .command("postgres")
                .arg("-D")
                .arg(self.data())
                .stderr(log)
                .spawn()
                .map_err(failed("start"))?;
            let ended = loop {
                if self.serves(server.id()) {
                    break false;
                }
                if server.try_wait().map_err(failed("wait"))?.is_some() {
                    break true;
                }
                if Instant::now() > deadline {
                    let _ = server.kill();
                    let _ = server.wait();
                    break true;
                }
                std::thread::sleep(POLL);
            };
            if !ended {
                self.watch = Some(watch(server.id(), self.dir.path())?);
                self.server = Some(server);
                return Ok(());
            }
            if Instant::now() > deadline {
                let said = fs::read_to_string(self.log()).unwrap_or_default();
                return Err(PgError::Failed { step: "start", said });
            }
            std::thread::sleep(POLL);
        }
    }

    /// The last line of `postmaster.pid` is the postmaster's own word for its state, the first its number: a
    /// file left by one that was killed does not count.
    fn serves(&self, server: u32) -> bool {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let mut lines = file.lines().map(str::trim);
        lines.next() == Some(server.to_string().as_str()) && lines.nth(6) == Some("ready")
    }

    fn kill(&mut self) -> Result<(), PgError> {
        if let Some(mut server) = self.server.take() {
            server.kill().map_err(failed("kill"))?;
            server.wait().map_err(failed("wait"))?;
            self.watch = self.watch.take().and_then(stop_watching);
        }
        Ok(())
    }

    fn kill_backend(&self, pick: u64) -> Result<bool, PgError> {
        let Some(server) = &self.server else { return Ok(false) };
        let backends = backends(server.id());
        let count = u64::try_from(backends.len()).unwrap_or(0);
        let chosen = pick.checked_rem(count).and_then(|index| usize::try_from(index).ok());
        match chosen.and_then(|index| backends.get(index)) {
            Some(pid) => signal("-KILL", *pid).map(|()| true),
            None => Ok(false),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.current_dir(self.dir.path()).env_remove("PGDATA").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("server.log")
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = signal("-QUIT", server.id());
            let _ = server.wait();
        }
        self.watch = self.watch.take().and_then(stop_watching);
    }
}

fn failed(step: &'static str) -> impl Fn(io::Error) -> PgError {
    move |error| PgError::Failed { step, said: error.to_string() }
}

/// A shell that waits for the end of its standard input, which comes with the end of this process, and then
/// stops the server and removes its directory.
fn watch(server: u32, dir: &Path) -> Result<(Child, Option<ChildStdin>), PgError> {
    let mut watch = Command::new("sh")
        .args([
            "-c",
            "read -r line; [ \"$line\" = stop ] && exit; kill -QUIT \"$1\"; sleep 1; rm -rf \"$2\"",
            "sh",
        ])
        .arg(server.to_string())
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed("watch"))?;
    let input = watch.stdin.take();
    Ok((watch, input))
}

fn stop_watching(watch: (Child, Option<ChildStdin>)) -> Option<(Child, Option<ChildStdin>)> {
    use io::Write;
    let (mut child, input) = watch;
    if let Some(mut input) = input {
        let _ = input.write_all(b"stop\n");
    }
    let _ = child.wait();
    None
}

fn signal(signal: &str, pid: u32) -> Result<(), PgError> {
    let status = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
    status.map(|_| ()).map_err(failed("kill"))
}

/// The postmaster's children that serve a client: PostgreSQL titles them `postgres: user database [local] …`.
fn backends(postmaster: u32) -> Vec<u32> {
    let children =
        fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap_or_default();
    children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(|pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|title| title.contains("[local]"))
        })
        .collect()
}

fn binaries() -> Option<PathBuf> {
    let configured =
        Command::new("pg_config").arg("--bindir").output().ok().filter(|output| output.status.success());
    let configured = configured.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let mut packaged: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect())
        .unwrap_or_default();
    packaged.sort();
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    configured
        .into_iter()
        .chain(packaged.into_iter().rev())
        .chain(on_path.unwrap_or_default())
        .find(|dir| dir.join("initdb").exists() && dir.join("postgres").exists())
}

/// PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody`.
fn account() -> Result<Option<(u32, u32)>, PgError> {
    let me = fs::metadata("/proc/self").map_err(failed("account"))?;
    if std::os::unix::fs::MetadataExt::uid(&me) != 0 {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").map_err(failed("account"))?;
    let find = |name: &str| {
        accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (user, _) = (fields.next()?, fields.next()?);
            let ids = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            (user == name).then_some(ids)
        })
    };
    find("postgres").or_else(|| find("nobody")).map(Some).ok_or_else(|| PgError::Failed {
        step: "account",
        said: "running as root and no account postgres or nobody to run the server as".to_owned(),
    })
}
