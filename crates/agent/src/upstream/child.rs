//! A server that is a process of ours: its standard input and output are the protocol, its standard error is ours.

use crate::hub::Event;
use crate::lines::Lines;
use crate::wire::Message;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// How to start it.
#[derive(Clone, Default)]
pub struct Program {
    pub program: String,
    pub arguments: Vec<String>,
    /// Besides our own environment.
    pub environment: BTreeMap<String, String>,
    pub folder: Option<PathBuf>,
}

/// Arguments and environment may hold secrets.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({})", self.program)
    }
}

/// Before a program that ended is started again: doubled each time, up to the most.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// One that ran so long is started again after the first pause.
const STEADY: Duration = Duration::from_secs(60);
/// How long a program has to end by itself once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

enum Ended {
    /// The hub wants no more.
    ByUs,
    ByItself(String),
}

impl Program {
    pub(super) async fn keep(self, at: usize, events: mpsc::Sender<Event>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let why = match self.start() {
                Ok(child) => {
                    let (link, lines) = mpsc::unbounded_channel();
                    if events.send(Event::Up { up: at, link }).await.is_err() {
                        return;
                    }
                    match attend(child, lines, at, &events).await {
                        Ended::ByUs => return,
                        Ended::ByItself(why) => why,
                    }
                }
                Err(error) => format!("{} cannot be started: {error}", self.program),
            };
            if events.send(Event::Down { up: at, why }).await.is_err() {
                return;
            }
            if began.elapsed() > STEADY {
                pause = FIRST_PAUSE;
            }
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(&self.environment);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
    }
}

/// Carries lines both ways until one side ends.
async fn attend(
    mut child: Child,
    mut lines: mpsc::UnboundedReceiver<Message>,
    at: usize,
    events: &mpsc::Sender<Event>,
) -> Ended {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Ended::ByItself("it has no standard input and output".to_owned());
    };
    let writing = tokio::spawn(async move {
        while let Some(message) = lines.recv().await {
            let mut line = message.into_text().into_bytes();
            line.push(b'\n');
            if input.write_all(&line).await.is_err() {
                // Its output says whether it has ended; until then what is sent to it is lost.
                while lines.recv().await.is_some() {}
                break;
            }
        }
    });
    let mut output = Lines::new(output);
    let mut by_us = false;
    let mut writing = writing;
    loop {
        tokio::select! {
            line = output.next() => match line {
                Ok(Some(line)) => {
                    if events.send(Event::From { up: at, line }).await.is_err() {
                        break;
                    }
                }
                Ok(None) | Err(_) => break,
            },
            // The hub has let go, and with the writer the program's input is closed.
            _ = &mut writing, if !by_us => {
                by_us = true;
                let rest = timeout(GRACE, async {
                    while let Ok(Some(line)) = output.next().await {
                        let _ = events.send(Event::From { up: at, line }).await;
                    }
                });
                let _ = rest.await;
                break;
            }
        }
    }
    writing.abort();
    // Whoever closes its output without ending has ended for us.
    let status = match timeout(GRACE, child.wait()).await {
        Ok(status) => status.map_or_else(|error| error.to_string(), |status| status.to_string()),
        Err(_) => {
            let _ = child.kill().await;
            "it closed its output and was ended".to_owned()
        }
    };
    if by_us { Ended::ByUs } else { Ended::ByItself(format!("it ended ({status})")) }
}
