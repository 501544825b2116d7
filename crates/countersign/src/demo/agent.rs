//! A scripted agent: an MCP client that calls the tools of a server, as any host would.

use crate::commands::Failure;
use rmcp::model::{CallToolRequestParams, ClientConfig, Implementation};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{RoleClient, ServiceExt};
use serde_json::Value;

pub struct Agent {
    client: RunningService<RoleClient, ClientConfig>,
    /// The link that every call but the first needs.
    pub link: String,
}

impl Agent {
    pub async fn connect(mcp: &str, name: &str) -> Result<Self, Failure> {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new(name, env!("CARGO_PKG_VERSION"));
        let transport = StreamableHttpClientTransport::from_uri(mcp.to_owned());
        let client = info.serve(transport).await.map_err(Failure::unusable_by)?;
        Ok(Self { client, link: String::new() })
    }

    /// Calls a tool in this agent's room.
    pub async fn call(&self, tool: &'static str, mut arguments: Value) -> Result<Value, Failure> {
        if let Some(object) = arguments.as_object_mut()
            && !self.link.is_empty()
        {
            object.insert("link".to_owned(), Value::String(self.link.clone()));
        }
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        let result = self.client.call_tool(request).await.map_err(Failure::unusable_by)?;
        let structured = result.structured_content.unwrap_or_default();
        if result.is_error == Some(true) {
            return Err(Failure::refused(format!("{tool} was refused: {structured}")));
        }
        Ok(structured)
    }

    pub async fn close(self) {
        // The room is over: whether the goodbye arrives does not matter.
        let _ = self.client.cancel().await;
    }
}
