//! A mandate's public figures, as plots and as a table. Everything in it is what `GET /v1/metrics` says.

use super::boundary::{OfMandate, Picture, plots_of};
use super::{Denied, page as shown_page, shell};
use crate::page::Shell;
use crate::visitor::Visitor;
use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde_json::Value;

#[derive(Template)]
#[template(path = "mandates/figures.html")]
struct Figures {
    shell: Shell,
    mandate: String,
    plots: Vec<Picture>,
    rows: Vec<(String, String)>,
}

pub(crate) async fn page(Query(of): Query<OfMandate>, visitor: Visitor) -> Result<Response, Denied> {
    let mandate = of.named()?;
    let metrics = visitor.app.figures(&mandate).await?;
    let mut rows = Vec::new();
    if let Ok(told) = serde_json::to_value(&metrics) {
        table(&told, "", &mut rows);
    }
    Ok(shown_page(&Figures {
        plots: plots_of(&metrics),
        rows,
        shell: shell(&visitor, &format!("Figures of {mandate}")).await?,
        mandate,
    }))
}

/// Every member on a line of its own: `bonds, locked`.
fn table(value: &Value, name: &str, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let member = member.replace('_', " ");
                let name = if name.is_empty() { member } else { format!("{name}, {member}") };
                table(value, &name, rows);
            }
        }
        Value::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                table(value, &format!("{name} {}", n.saturating_add(1)), rows);
            }
        }
        Value::Null => rows.push((name.to_owned(), "none yet".to_owned())),
        Value::String(text) => rows.push((name.to_owned(), crate::words::shown(text))),
        other => rows.push((name.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out() {
        let mut rows = Vec::new();
        table(&serde_json::json!({ "a_b": 1, "c": { "d": null, "e": ["x"] } }), "", &mut rows);
        let rows: Vec<_> = rows.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(rows, [("a b", "1"), ("c, d", "none yet"), ("c, e 1", "x")]);
    }
}
