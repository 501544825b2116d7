//! A server on loopback, a browser without scripts, a room with both sides in it.

use env::{Source, System};
use keys::webauthn::{Authenticator, Challenge};
use keys::{Algorithm, Signer, SoftwareSigner};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use server::{App, Caller, Config, Link, Parts, Silent};
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::MemoryJournal;
use tokio::net::TcpListener;

/// A running server.
pub struct Site {
    pub app: App,
    pub url: String,
}

/// A browser: cookies, and nothing that runs.
pub struct Browser {
    url: String,
    http: reqwest::Client,
    cookies: BTreeMap<String, String>,
}

/// An answer.
#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    pub body: String,
    pub to: Option<String>,
    pub headers: reqwest::header::HeaderMap,
}

/// A room in which both sides may talk; the browsers of everyone around it.
pub struct Scene {
    pub site: Site,
    pub room: String,
    /// A's person, who owns the organization.
    pub owner: Browser,
    /// Their passkey.
    pub key: Authenticator,
    /// B's person, by link alone.
    pub other: Browser,
    pub agent_a: String,
    pub agent_b: String,
}

impl Site {
    pub async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}", listener.local_addr().unwrap().port());
        let mut config = Config { public_url: url.parse().unwrap(), ..Config::default() };
        config.limits.address_per_minute = 0;
        config.limits.credential_per_minute = 0;
        change(&mut config);
        let signer: Arc<dyn Signer> =
            Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[7; 32]).unwrap());
        let source: Arc<dyn Source> = Arc::new(System);
        let app = App::new(Parts {
            config,
            journal: Arc::new(MemoryJournal::new()),
            source,
            signer,
            log: None,
            fetch: fetch::Client::new(fetch::Policy::default()).unwrap(),
            mandates: None,
            notifier: Arc::new(Silent),
        })
        .unwrap();
        tokio::spawn({
            let app = app.clone();
            async move {
                let routes = server::router(&app).merge(console::router());
                server::serve(&app, routes, listener, std::future::pending()).await;
            }
        });
        Self { app, url }
    }

    pub fn browser(&self) -> Browser {
        let http = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
        Browser { url: self.url.clone(), http, cookies: BTreeMap::new() }
    }

    /// The first owner, enrolled and signed in.
    pub async fn owner(&self) -> (Browser, Authenticator) {
        let links = self.app.found_organizations().await.unwrap();
        self.enrolled(&links[0].link, 1).await
    }

    /// Whoever opens an enrolment link, with a passkey of their own.
    pub async fn enrolled(&self, link: &str, seed: u8) -> (Browser, Authenticator) {
        let mut browser = self.browser();
        let invite = link.rsplit_once("#i=").unwrap().1;
        let begin = json!({ "org": "home", "invite": invite });
        let begun = browser.json("/api/enrolment/begin", &begin).await;
        let key = Authenticator::new(Algorithm::P256, &[seed; 32], "localhost", &self.url).unwrap();
        let challenge: Challenge = begun["challenge"].as_str().unwrap().parse().unwrap();
        let registration = key.register(&challenge).unwrap();
        let finish = json!({ "org": "home", "invite": invite, "ticket": begun["ticket"], "registration": registration });
        browser.json("/api/enrolment/finish", &finish).await;
        (browser, key)
    }

    /// Sends an envelope as the agent that holds the link.
    pub async fn say(&self, link: &str, envelope: Value) -> pxp::Sent {
        let (room, caller) = self.holder(link).await;
        let envelope = serde_json::from_value(envelope).unwrap();
        self.app.send_envelope(&caller, &room, envelope, None, None, None).await.unwrap()
    }

    pub async fn holder(&self, link: &str) -> (pxp::RoomId, Caller) {
        let link = Link::parse(&self.app.config().public_url, link).unwrap();
        let caller = self.app.authenticate(&http::HeaderMap::new(), Some(&link)).await.unwrap();
        (link.room, caller)
    }
}

impl Browser {
    pub async fn get(&mut self, path: &str) -> Page {
        self.send(Method::GET, path, None).await
    }

    /// Loads the page, fills its form with the fields, and sends it.
    pub async fn submit(&mut self, page: &str, action: &str, fields: &[(&str, &str)]) -> Page {
        let csrf = self.get(page).await.csrf();
        self.post(action, &csrf, fields).await
    }

    pub async fn post(&mut self, action: &str, csrf: &str, fields: &[(&str, &str)]) -> Page {
        let mut form = vec![("csrf", csrf)];
        form.extend(fields);
        let body: Vec<String> =
            form.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        self.send(Method::POST, action, Some(("application/x-www-form-urlencoded", body.join("&")))).await
    }

    pub async fn json(&mut self, path: &str, body: &Value) -> Value {
        let page = self.send(Method::POST, path, Some(("application/json", body.to_string()))).await;
        assert!(page.status.is_success(), "{path}: {}", page.body);
        serde_json::from_str(&page.body).unwrap()
    }

    async fn send(&mut self, method: Method, path: &str, body: Option<(&str, String)>) -> Page {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.url));
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        request = request.header("cookie", cookies.join("; "));
        if let Some((kind, body)) = body {
            request = request.header("origin", &self.url).header("content-type", kind).body(body);
        }
        let response = request.send().await.unwrap();
        let headers = response.headers().clone();
        for cookie in headers.get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        let to = headers.get("location").map(|to| to.to_str().unwrap().to_owned());
        let status = response.status();
        Page { status, to, headers, body: response.text().await.unwrap() }
    }
}

impl Page {
    pub fn csrf(&self) -> String {
        between(&self.body, "<meta name=\"csrf\" content=\"", "\"").unwrap_or_default()
    }

    /// What the page shows once: links and keys, in order.
    pub fn secrets(&self) -> Vec<String> {
        self.body
            .split("<code class=\"value\" id=\"secret")
            .skip(1)
            .map(|rest| between(rest, "\">", "</code>").unwrap().replace("&#38;", "&"))
            .collect()
    }

    /// The answer sends the browser on to this path.
    #[track_caller]
    pub fn leads_to(&self, path: &str) {
        assert_eq!((self.status, self.to.as_deref()), (StatusCode::SEE_OTHER, Some(path)), "{}", self.body);
    }

    #[track_caller]
    pub fn says(&self, text: &str) {
        assert!(self.body.contains(text), "{} does not say {text:?}:\n{}", self.status, self.body);
    }
}

impl Scene {
    pub async fn set(topic: &str) -> Self {
        Self::of(Site::start(|_| {}).await, topic).await
    }

    /// The same on a site of its own making. Answers are held as that site's rooms do.
    pub async fn of(site: Site, topic: &str) -> Self {
        let hold = if site.app.config().rooms.hold_relayed { "yes" } else { "no" };
        let (mut owner, key) = site.owner().await;
        let opened = owner
            .submit(
                "/rooms/new",
                "/rooms",
                &[
                    ("topic", topic),
                    ("name", "Ana"),
                    ("agent", "Agent A"),
                    ("other", "Ben"),
                    ("key", "0123456789abcdefgh"),
                    ("max_turns", "20"),
                    ("hold", hold),
                ],
            )
            .await;
        let secrets = opened.secrets();
        assert_eq!(secrets.len(), 2, "{}", opened.body);
        let room = between(&secrets[0], "/room/", "#").unwrap();
        let page = format!("/room/{room}/card");
        let seal = format!("/room/{room}/card/seal");
        let sealed = owner.submit(&page, &seal, CARD).await;
        sealed.leads_to(&format!("/room/{room}?said=sealed"));
        let mut other = site.browser();
        other.submit("/open", "/open", &[("link", &secrets[1])]).await.leads_to(&format!("/room/{room}"));
        let at = format!("/room/{room}");
        let joined = other.submit(&at, &format!("{at}/join"), &[("agent", "Agent B")]).await;
        let links = joined.secrets();
        let personal = links[1].rsplit_once('=').unwrap().1.to_owned();
        // The invitation this browser kept is used up; the page with the links still has a form.
        other.post(&format!("{at}/enter"), &joined.csrf(), &[("secret", &personal)]).await.leads_to(&at);
        other
            .submit(&at, &format!("{at}/person"), &[("as", "link")])
            .await
            .leads_to(&format!("{at}?said=person"));
        other.submit(&page, &seal, CARD_B).await.leads_to(&format!("{at}?said=sealed"));
        Self { agent_a: secrets[0].clone(), agent_b: links[0].clone(), site, room, owner, key, other }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/room/{}{rest}", self.room)
    }

    /// A's agent asks its person.
    pub async fn ask(&self, question: &str) {
        let envelope = json!({ "message": "I have to ask.", "status": "escalate",
            "claims": [{ "text": "The hall is free", "origin": "assumed" }],
            "escalation": { "question": question, "reason": "The card does not say." } });
        self.site.say(&self.agent_a, envelope).await;
    }

    /// Offered by A within its card, accepted by B.
    pub async fn agree(&self) {
        let (room, caller) = self.site.holder(&self.agent_a).await;
        let reviews = |view: &server::RoomView| -> Vec<Value> {
            let claims = view.room.claims_to_review.iter();
            claims.map(|claim| json!({ "claim_id": claim.id, "verdict": "accept" })).collect()
        };
        let view = self.site.app.view_room(&caller, &room).await.unwrap();
        let sent = self
            .site
            .say(&self.agent_a, json!({ "message": "We offer.", "status": "continue", "reviews": reviews(&view),
                "proposal": { "terms": ["The hall on Monday"],
                    "values": [{ "label": "price", "kind": "money", "value": 90000, "unit": "EUR", "exponent": 2, "term": 0 }],
                    "authority": [{ "term": 0, "clauses": ["must_haves[0]"] }] } }))
            .await;
        let (_, caller) = self.site.holder(&self.agent_b).await;
        let view = self.site.app.view_room(&caller, &room).await.unwrap();
        let agree = json!({ "message": "Agreed.", "status": "agree", "reviews": reviews(&view),
            "accepts": sent.offer_hash.unwrap(), "authority": [{ "term": 0, "clauses": ["must_haves[0]"] }] });
        self.site.say(&self.agent_b, agree).await;
    }
}

pub const CARD: &[(&str, &str)] = &[
    ("name", "Ana"),
    ("goal", "Rent the hall"),
    ("must_haves", "The hall on Monday\r\nSeats for 80"),
    ("may_agree_to", "A fair price"),
    ("limit0_label", "price"),
    ("limit0_kind", "money"),
    ("limit0_op", "le"),
    ("limit0_value", "900.5"),
    ("limit0_unit", "EUR"),
    ("limit0_list", "may_agree_to"),
    ("limit0_line", "1"),
];

const CARD_B: &[(&str, &str)] = &[
    ("name", "Ben"),
    ("goal", "Let the hall"),
    ("must_haves", "A fair price"),
    ("known_facts", "The hall has 90 seats"),
];

pub fn between(text: &str, start: &str, end: &str) -> Option<String> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found.to_owned())
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}
