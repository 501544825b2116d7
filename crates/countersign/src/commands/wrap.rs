//! Any MCP server behind the gateway of evidence: one word in front of it in the host's configuration.

use super::Failure;
use crate::config::Config;
use crate::dev::Dev;
use crate::evidence;
use agent::{Client, Custody, End, Event, Gate, Hub, Program, Remote, Target, Upstream};
use clap::Args;
use serde::Deserialize;
use signer::Attest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

#[derive(Debug, Args)]
pub struct Wrap {
    /// The server's program and its arguments, after --
    #[arg(last = true, value_name = "PROGRAM", required_unless_present_any = ["http", "upstreams"])]
    pub command: Vec<String>,
    /// A server over Streamable HTTP instead of a program
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "upstreams"])]
    pub http: Option<String>,
    /// A header for it, "Name: value"; ${NAME} stands for a variable of the environment; may be given again
    #[arg(long = "header", value_name = "HEADER", requires = "http")]
    pub headers: Vec<String>,
    /// Several servers: a file with mcpServers, as hosts write it
    #[arg(long = "config", value_name = "FILE", conflicts_with = "command")]
    pub upstreams: Option<PathBuf>,
    /// A private address that a server may be at, besides the ones that name this machine; may be given again
    #[arg(long = "allow", value_name = "HOST:PORT")]
    pub allow: Vec<fetch::HostPort>,
    /// What records and policy call the server; by default its program's name
    #[arg(long, value_name = "NAME", conflicts_with = "upstreams")]
    pub name: Option<String>,
    /// The socket of a running signer; without it that of the server configured here, or else a signer of our own, to try things
    /// out, whose checkpoints say dev
    #[arg(long, value_name = "SOCKET")]
    pub signer: Option<PathBuf>,
    /// The policy of a signer of our own; without it everything is allowed, and recorded
    #[arg(long, value_name = "FILE", conflicts_with = "signer")]
    pub policy: Option<PathBuf>,
    /// For whom the gateway calls, as records name it
    #[arg(long, value_name = "SCHEME:SUBJECT", default_value = "harness:mcp-host")]
    pub caller: String,
    /// Folder of what a gateway that was killed has to know
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,
}

/// What hosts write of their servers.
#[derive(Deserialize)]
struct Servers {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Server>,
}

#[derive(Deserialize)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// How long servers have to end once the host has gone.
const GRACE: Duration = Duration::from_secs(5);

/// On one thread: it waits far more than it works.
pub fn run(arguments: &Wrap) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable_by)?;
    let outcome = runtime.block_on(wrapped(arguments));
    // A standard input that is no pipe is read by a thread that nothing can wake.
    runtime.shutdown_background();
    outcome
}

async fn wrapped(arguments: &Wrap) -> Result<ExitCode, Failure> {
    let upstreams = upstreams(arguments)?;
    let names: Vec<String> = upstreams.iter().map(|upstream| upstream.name.clone()).collect();
    let state = arguments.state.clone().unwrap_or_else(state);
    let (signer, dev) = signer(arguments, &state).await?;
    let gate = gate(arguments, &names, &state, signer).await?;
    let (events, heard) = mpsc::channel(1024);
    let (to_host, lines) = mpsc::unbounded_channel();
    let input = agent::host::input().map_err(Failure::unusable_by)?;
    let output = agent::host::output().map_err(Failure::unusable_by)?;
    tokio::spawn(agent::host::listen(input, events.clone()));
    let speaking = tokio::spawn(agent::host::speak(output, lines, events.clone()));
    let stop = super::serve::stopped()?;
    let told = events.clone();
    tokio::spawn(async move {
        stop.await;
        let _ = told.send(Event::HostClosed).await;
    });
    let mut servers = JoinSet::new();
    for (at, upstream) in upstreams.into_iter().enumerate() {
        servers.spawn(upstream.keep(at, events.clone()));
    }
    let end = Hub::new(gate, names, events, to_host).run(heard).await;
    let _ = tokio::time::timeout(GRACE, async { while servers.join_next().await.is_some() {} }).await;
    let _ = tokio::time::timeout(GRACE, speaking).await;
    if let Some(dev) = dev {
        dev.end().await;
    }
    match end {
        End::Done => Ok(ExitCode::SUCCESS),
        End::NeverStarted(why) => Err(Failure::unusable(why)),
    }
}

/// The signer that is named, or that runs here, or one of our own.
async fn signer(arguments: &Wrap, state: &Path) -> Result<(Arc<dyn Attest>, Option<Dev>), Failure> {
    if let Some(socket) = &arguments.signer {
        let client = signer::Client::connect(socket).await.map_err(Failure::unusable_by)?;
        return Ok((Arc::new(client), None));
    }
    if arguments.policy.is_none()
        && let Ok(config) = Config::load(None, None)
        && let Ok(client) = signer::Client::connect(&evidence::socket_path(&config)).await
    {
        return Ok((Arc::new(client), None));
    }
    let dev = Dev::open(&state.join("signer"), arguments.policy.as_deref()).await?;
    Ok((Arc::new(dev.seat.clone()), Some(dev)))
}

async fn gate(
    arguments: &Wrap,
    names: &[String],
    state: &Path,
    signer: Arc<dyn Attest>,
) -> Result<Arc<dyn Gate>, Failure> {
    let name = names.join("+");
    let client = Client { agent: name.clone(), caller: arguments.caller.clone() };
    let gate = Custody::open(signer, &state.join("gateways").join(name), &client).await;
    let gate = gate.map_err(Failure::unusable_by)?;
    if !gate.is_gateway() {
        agent::warn("the signer does not know this gateway, so its records are the agent's own word (T1)");
    }
    agent::warn(&format!("recording in run {}", gate.run()));
    Ok(Arc::new(gate))
}

/// `~/.local/state/countersign/wrap`, or where the environment says.
fn state() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")));
    base.unwrap_or_else(std::env::temp_dir).join("countersign/wrap")
}

fn upstreams(arguments: &Wrap) -> Result<Vec<Upstream>, Failure> {
    if let Some(file) = &arguments.upstreams {
        return listed(file, &arguments.allow);
    }
    if let Some(url) = &arguments.http {
        let headers = arguments.headers.iter().map(|header| {
            let (name, value) = header
                .split_once(':')
                .ok_or_else(|| Failure::unusable(format!("{header:?} is no header")))?;
            Ok((name.trim().to_owned(), filled(value.trim())?))
        });
        let headers = headers.collect::<Result<Vec<_>, Failure>>()?;
        let remote = Remote::new(url, &headers, &arguments.allow).map_err(Failure::unusable_by)?;
        let host = url.split("://").nth(1).unwrap_or(url).split(['/', ':', '?']).next().unwrap_or_default();
        let name = arguments.name.clone().unwrap_or_else(|| cleaned(host));
        return Ok(vec![Upstream { name: checked(name)?, target: Target::Remote(remote) }]);
    }
    let [program, rest @ ..] = arguments.command.as_slice() else {
        return Err(Failure::unusable("no program is named"));
    };
    let name = arguments.name.clone().unwrap_or_else(|| called(&arguments.command));
    let target = Program { program: program.clone(), arguments: rest.to_vec(), ..Program::default() };
    Ok(vec![Upstream { name: checked(name)?, target: Target::Program(target) }])
}

fn listed(file: &Path, allow: &[fetch::HostPort]) -> Result<Vec<Upstream>, Failure> {
    let text = super::read_input(file)?;
    let failed = |why: String| Failure::unusable(format!("{}: {why}", file.display()));
    let servers: Servers = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    let each = servers.servers.into_iter().map(|(name, server)| {
        let target = match (server.command, server.url) {
            (Some(program), None) => {
                let environment = server.env.into_iter().map(|(name, value)| Ok((name, filled(&value)?)));
                let environment = environment.collect::<Result<_, Failure>>()?;
                Target::Program(Program { program, arguments: server.args, environment, folder: server.cwd })
            }
            (None, Some(url)) => {
                let headers = server.headers.into_iter().map(|(name, value)| Ok((name, filled(&value)?)));
                let headers = headers.collect::<Result<Vec<_>, Failure>>()?;
                Target::Remote(Remote::new(&url, &headers, allow).map_err(|error| failed(error.to_string()))?)
            }
            _ => return Err(failed(format!("{name:?} has either a command or a url"))),
        };
        Ok(Upstream { name: checked(name)?, target })
    });
    let all = each.collect::<Result<Vec<_>, Failure>>()?;
    if all.is_empty() { Err(failed("it names no server".to_owned())) } else { Ok(all) }
}

/// What a program is called: of `npx -y @scope/server-files@1.0 /tmp`, `server-files`.
fn called(command: &[String]) -> String {
    const RUNNERS: [&str; 12] =
        ["npx", "bunx", "pnpx", "uvx", "uv", "node", "bun", "deno", "python", "python3", "docker", "env"];
    let base = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let first = command.first().map(|program| base(program)).unwrap_or_default();
    let named = command.iter().skip(1).find(|word| !word.starts_with('-') && *word != "run");
    let chosen = if RUNNERS.contains(&first.as_str()) { named.map(|word| base(word)) } else { None };
    let chosen = chosen.unwrap_or(first);
    let chosen = chosen.split('@').next().unwrap_or_default();
    let ends = [".js", ".mjs", ".cjs", ".ts", ".py"];
    cleaned(ends.iter().find_map(|end| chosen.strip_suffix(end)).unwrap_or(chosen))
}

fn cleaned(text: &str) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' };
    let name: String = text.chars().map(good).take(64).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

/// A name that no other part of a tool's name can be taken for.
fn checked(name: String) -> Result<String, Failure> {
    let good = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && cleaned(&name) == name;
    if good {
        Ok(name)
    } else {
        Err(Failure::unusable(format!("{name:?} is no name for a server: letters, digits, '.' and '-'")))
    }
}

/// The text with `${NAME}` replaced from the environment. Refused: a variable that is not set.
fn filled(text: &str) -> Result<String, Failure> {
    let mut parts = text.split("${");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').ok_or_else(|| Failure::unusable("a ${ has no }"))?;
        let value =
            std::env::var(name).map_err(|_| Failure::unusable(format!("the variable {name} is not set")))?;
        out.push_str(&value);
        out.push_str(rest);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expected: &str) {
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        assert_eq!(called(&command), expected);
    }

    #[test]
    fn a_server_is_called_what_its_program_is() {
        check("npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /tmp", "server-filesystem");
        check("npx some-mcp-server", "some-mcp-server");
        check("/usr/bin/python3 /opt/my_server.py --fast", "my-server");
        check("uv run weather.py", "weather");
        check("/usr/local/bin/github-mcp stdio", "github-mcp");
    }

    #[test]
    fn names_keep_apart_what_is_put_after_them() {
        for (name, good) in
            [("files", true), ("a.b-c", true), ("a_b", false), ("", false), ("-a", false), ("a+b", false)]
        {
            assert_eq!(checked(name.to_owned()).is_ok(), good, "{name}");
        }
    }
}
