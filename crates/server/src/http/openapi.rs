//! The API's own description, OpenAPI 3.1. Paths come from the handlers, bodies from the types they read and write.

use super::{people, rooms, routes};
use crate::App;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    info(title = "Countersign", description = "Agents act, people countersign, anyone can check. Refusals are RFC 9457 problems with a stable code."),
    components(schemas(crate::problem::Problem)),
    tags((name = "rooms"), (name = "people"), (name = "messages"), (name = "log"), (name = "server"))
)]
struct Api;

/// The document, pretty JSON with a line end.
pub fn document(app: &App) -> String {
    let mut api = Api::openapi();
    api.merge(routes(app).into_openapi());
    let mut document = serde_json::to_value(&api).unwrap_or_default();
    let mut types = Types::new();
    describe(&mut document, &mut types);
    let schemas = types.generator.take_definitions(true);
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        let all = components.entry("schemas").or_insert_with(|| Value::Object(Map::new()));
        if let Some(all) = all.as_object_mut() {
            all.extend(schemas);
            all.sort_keys();
        }
        components.insert("securitySchemes".to_owned(), security_schemes());
    }
    if let Some(document) = document.as_object_mut() {
        document.insert("security".to_owned(), json!([{ "bearer": [] }, { "session": [] }]));
    }
    format!("{document:#}\n")
}

/// The document, for whoever asks.
pub(crate) async fn serve(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/vnd.oai.openapi+json;version=3.1")], document(&app)).into_response()
}

/// Requests name their types in the document's components; answers, whose types are spelled as they are written, stand
/// where they are used.
struct Types {
    generator: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Types {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let answers = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        Self { generator: settings.into_generator(), answers: answers.into_generator() }
    }

    fn told<T: JsonSchema>(&mut self) -> Value {
        json!({ "application/json": { "schema": self.answers.subschema_for::<T>() } })
    }

    fn of<T: JsonSchema>(&mut self) -> Value {
        json!({ "application/json": { "schema": self.generator.subschema_for::<T>() } })
    }
}

/// Gives each operation the types of its bodies.
fn describe(document: &mut Value, types: &mut Types) {
    let bodies: Vec<(&str, Option<Value>, Option<Value>)> = vec![
        ("open_room", Some(types.of::<rooms::OpenBody>()), Some(types.told::<crate::Opened>())),
        ("list_rooms", None, Some(types.told::<rooms::RoomList>())),
        ("get_room", None, Some(types.told::<crate::RoomView>())),
        ("wait", None, Some(types.told::<crate::RoomView>())),
        ("join_room", Some(types.of::<rooms::JoinBody>()), Some(types.told::<crate::Joined>())),
        ("seal_intent_card", Some(types.of::<pxp::CardInput>()), Some(types.told::<rooms::Sealed>())),
        ("send_envelope", Some(types.of::<rooms::SendBody>()), Some(types.told::<crate::SentView>())),
        ("get_brief", None, Some(types.told::<crate::BriefView>())),
        ("export_room", None, Some(types.told::<pxp::bundle::Bundle>())),
        ("prove_brief", None, Some(types.told::<pxp::bundle::BriefProof>())),
        ("export_ledger", None, Some(lines())),
        ("prepare_answer", Some(types.of::<rooms::MatterBody>()), None),
        ("answer", Some(types.of::<rooms::AnswerBody>()), Some(types.told::<crate::AnswerOutcome>())),
        ("confirm_claim", Some(types.of::<rooms::ClaimBody>()), Some(types.told::<crate::AnswerOutcome>())),
        ("attach_source", Some(types.of::<pxp::wire::Source>()), None),
        ("withdraw", Some(types.of::<rooms::WithdrawBody>()), None),
        ("disclose", Some(types.of::<rooms::DiscloseBody>()), None),
        ("share", Some(types.of::<rooms::ShareBody>()), Some(types.told::<crate::SharedLink>())),
        ("rotate", None, Some(types.told::<rooms::NewLink>())),
        ("pause", Some(types.of::<rooms::PauseBody>()), None),
        ("begin_principal", None, Some(types.told::<crate::Ceremony>())),
        (
            "enrol_principal",
            Some(types.of::<rooms::PrincipalBody>()),
            Some(types.told::<rooms::PrincipalEnrolled>()),
        ),
        ("draft_card", Some(types.of::<rooms::DraftBody>()), Some(types.told::<rooms::Drafted>())),
        ("begin_enrolment", Some(types.of::<people::EnrolBegin>()), Some(types.told::<crate::Ceremony>())),
        ("finish_enrolment", Some(types.of::<people::EnrolFinish>()), Some(types.told::<people::Me>())),
        ("begin_sign_in", None, Some(types.told::<crate::Ceremony>())),
        ("sign_in", Some(types.of::<people::SignIn>()), Some(types.told::<people::Me>())),
        ("me", None, Some(types.told::<people::Me>())),
        ("organization", None, Some(types.told::<people::Organization>())),
        ("act", Some(types.of::<people::ActBody>()), Some(types.told::<crate::Done>())),
        (
            "accept_message",
            Some(json!({ "application/json": { "schema": { "$ref": "/schemas/pcm-message.schema.json" } } })),
            Some(types.told::<crate::messages::Verdict>()),
        ),
        ("recover", Some(types.of::<people::RecoverBody>()), Some(types.told::<crate::Done>())),
    ];
    for operation in operations(document) {
        let name = operation.get("operationId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let described = bodies.iter().find(|(of, _, _)| *of == name);
        let Some(operation) = operation.as_object_mut() else { continue };
        if let Some((_, Some(request), _)) = described {
            operation.insert("requestBody".to_owned(), json!({ "required": true, "content": request }));
        }
        let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { continue };
        for (status, response) in responses.iter_mut() {
            let Some(response) = response.as_object_mut() else { continue };
            response.entry("description").or_insert_with(|| json!(""));
            if let Some((_, _, Some(answer))) = described
                && status.starts_with('2')
            {
                response.insert("content".to_owned(), answer.clone());
            }
        }
        let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
        let refused = json!({ "description": "Refused", "content": { "application/problem+json": problem } });
        responses.entry("default").or_insert(refused);
    }
}

/// JSON Lines: no one schema describes them.
fn lines() -> Value {
    json!({ "application/jsonl": { "schema": { "type": "string" } } })
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    paths
        .into_iter()
        .flat_map(|paths| paths.values_mut())
        .filter_map(Value::as_object_mut)
        .flat_map(|path| path.iter_mut())
        .filter(|(method, _)| matches!(method.as_str(), "get" | "put" | "post" | "delete"))
        .map(|(_, operation)| operation)
}

fn security_schemes() -> Value {
    json!({
        "bearer": { "type": "http", "scheme": "bearer", "description": "A seat's, person's or share's secret of the room, or an agent key" },
        "session": { "type": "apiKey", "in": "cookie", "name": "countersign_session" },
    })
}
