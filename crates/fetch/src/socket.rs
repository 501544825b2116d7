use crate::Error;
use futures::{SinkExt, StreamExt};
use reqwest::Upgraded;
use std::fmt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

/// An open WebSocket: texts out, texts in. One whose call failed, or was given up, is of no use any more.
pub struct WebSocket {
    stream: WebSocketStream<Upgraded>,
    max: usize,
}

impl WebSocket {
    pub(crate) async fn over(stream: Upgraded, max: usize) -> Self {
        let config = WebSocketConfig::default().max_message_size(Some(max)).max_frame_size(Some(max));
        Self { stream: WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await, max }
    }

    pub async fn send(&mut self, text: String) -> Result<(), Error> {
        self.stream.send(Message::text(text)).await.map_err(|error| self.failure(&error))
    }

    /// The next text. Pings are answered on the way; bytes are refused.
    pub async fn next(&mut self) -> Result<String, Error> {
        let lost = |detail: &str| Error::Broken { detail: detail.to_owned() };
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Frame(_))) => {
                    return Err(lost("bytes instead of a text"));
                }
                Some(Ok(Message::Close(_))) | None => return Err(lost("the connection was closed")),
                Some(Err(error)) => return Err(self.failure(&error)),
            }
        }
    }

    fn failure(&self, error: &tungstenite::Error) -> Error {
        match error {
            tungstenite::Error::Capacity(_) => Error::TooLarge { max: self.max },
            other => Error::Broken { detail: other.to_string() },
        }
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocket").finish_non_exhaustive()
    }
}
