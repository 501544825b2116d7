//! What the rooms are about.

use serde_json::{Value, json};

/// One thing to buy, with the room to move on either side. Prices in whole euros.
pub struct Deal {
    pub topic: &'static str,
    pub buyer: &'static str,
    pub seller: &'static str,
    pub thing: &'static str,
    /// A fact of the buyer's card.
    pub need: &'static str,
    /// A fact of the seller's card.
    pub fact: &'static str,
    pub assumption: &'static str,
    pub sourced: (&'static str, &'static str),
    pub first: i64,
    pub limit: i64,
    pub counter: i64,
}

pub const DEALS: [Deal; 12] = [
    deal(
        "Van for the move",
        ["Ana", "Rental Ray"],
        "A van for Saturday",
        ["The flat has three rooms", "The van is free on Saturday"],
        "The lift works",
        ("The van holds twelve cubic metres", "rental leaflet"),
        [70, 90, 85],
    ),
    deal(
        "Catering for the summer party",
        ["Iris", "Kitchen Kim"],
        "Buffet and drinks",
        ["Sixty guests are invited", "The kitchen is free that week"],
        "Half of the guests eat no meat",
        ("The garden has power", "garden plan"),
        [1_400, 1_600, 1_900],
    ),
    deal(
        "Website for the bakery",
        ["Bo", "Studio Lena"],
        "A site with a shop",
        ["The bakery sells forty products", "Lena has time in March"],
        "The photos are free to use",
        ("The old site is on a German host", "host's invoice"),
        [2_500, 3_000, 3_400],
    ),
    deal(
        "Piano for the school",
        ["Cara", "Piano House"],
        "A used grand piano, delivered",
        ["The hall is on the ground floor", "The piano was tuned in May"],
        "The door is wide enough",
        ("The piano was built in Leipzig", "maker's plate"),
        [4_000, 4_500, 4_800],
    ),
    deal(
        "Translation of a manual",
        ["Dov", "Words Ltd"],
        "The manual in French",
        ["The manual is final", "A native speaker is free"],
        "The pictures need no translation",
        ("The manual has ninety pages", "table of contents"),
        [900, 1_000, 1_150],
    ),
    deal(
        "Roof repair",
        ["Eva", "Roofer Tom"],
        "The north side of the roof mended",
        ["The house is not listed", "The crew is free in April"],
        "The beams are sound",
        ("The tiles are still made", "catalogue"),
        [5_200, 6_000, 6_600],
    ),
    deal(
        "Stand at the fair",
        ["Finn", "City Fair"],
        "A corner stand for three days",
        ["The team has four people", "Two corner stands are left"],
        "The hall is heated",
        ("Last year had many visitors", "press report"),
        [1_100, 1_250, 1_300],
    ),
    deal(
        "Lessons for a choir",
        ["Gil", "Singer Mo"],
        "Ten evenings of lessons",
        ["The choir has thirty singers", "Mo teaches on Tuesdays"],
        "The church lets the choir in",
        ("Mo has taught in two schools", "letter of a school"),
        [600, 700, 690],
    ),
    deal(
        "Printing of a book",
        ["Hana", "Press Otto"],
        "Five hundred copies, bound",
        ["The text is final", "The press runs in June"],
        "The paper price stays",
        ("The paper is certified", "paper sheet"),
        [3_100, 3_300, 3_250],
    ),
    deal(
        "Used bus for the club",
        ["Jon", "Bus Yard"],
        "The blue bus as it stands",
        ["The club has a driver", "The bus passed its test in May"],
        "The heating works",
        ("The bus has new brakes", "workshop bill"),
        [8_000, 9_000, 8_800],
    ),
    deal(
        "Office cleaning",
        ["Kaya", "Clean Crew"],
        "Cleaning twice a week",
        ["The office has one floor", "The crew has own tools"],
        "The alarm can be switched off",
        ("The crew is insured", "insurance paper"),
        [400, 450, 440],
    ),
    deal(
        "Photos of a wedding",
        ["Lia", "Foto Nils"],
        "Photos from noon to midnight",
        ["The wedding is in a barn", "Nils is free that day"],
        "The barn allows flash",
        ("Nils has shot many weddings", "his site"),
        [1_000, 1_200, 1_150],
    ),
];

const fn deal(
    topic: &'static str,
    [buyer, seller]: [&'static str; 2],
    thing: &'static str,
    [need, fact]: [&'static str; 2],
    assumption: &'static str,
    sourced: (&'static str, &'static str),
    [first, limit, counter]: [i64; 3],
) -> Deal {
    Deal { topic, buyer, seller, thing, need, fact, assumption, sourced, first, limit, counter }
}

impl Deal {
    pub fn price(&self, euros: i64) -> String {
        format!("{euros} EUR, paid after delivery")
    }

    pub fn terms(&self, euros: i64) -> Value {
        json!([self.thing, self.price(euros)])
    }

    pub fn values(&self, euros: i64) -> Value {
        json!([{"label": "price", "kind": "money", "value": euros * 100, "unit": "EUR", "exponent": 2, "term": 1}])
    }

    pub fn buyer_card(&self) -> Value {
        json!({
            "principal": {"name": self.buyer, "role": "buyer"}, "goal": self.topic,
            "must_haves": [self.thing], "may_agree_to": [format!("Up to {} EUR", self.limit)],
            "must_never": ["Pay before delivery"], "known_facts": [self.need],
            "limits": [{"label": "price", "kind": "money", "op": "le", "value": self.limit * 100, "unit": "EUR",
                "exponent": 2, "clause": "may_agree_to[0]"}],
        })
    }

    pub fn seller_card(&self) -> Value {
        json!({
            "principal": {"name": self.seller, "role": "seller"}, "goal": format!("Sell: {}", self.thing),
            "must_haves": ["Payment within thirty days of delivery"], "may_agree_to": [self.thing, "A lower price for a good customer"],
            "known_facts": [self.fact],
        })
    }

    /// The buyer's first message: three claims and an offer that rests on the first two.
    pub fn opening(&self) -> Value {
        json!({
            "message": format!("{} is interested.", self.buyer), "status": "continue",
            "claims": [
                {"text": self.need, "origin": "stated", "ref": "known_facts[0]"},
                {"text": self.sourced.0, "origin": "sourced", "ref": self.sourced.1},
                {"text": self.assumption, "origin": "assumed"}],
            "proposal": {"terms": self.terms(self.first), "depends_on": ["new1", "new2"],
                "values": self.values(self.first), "authority": buyer_lines()},
        })
    }

    /// The seller's answer: another price, resting on what is named.
    pub fn counter(&self, euros: i64, verdicts: [&str; 3], rests_on: &[&str]) -> Value {
        let reviews: Vec<Value> =
            ["A1.1", "A1.2", "A1.3"].iter().zip(verdicts).map(|(id, verdict)| review(id, verdict)).collect();
        json!({
            "message": "That is possible, at another price.", "status": "continue",
            "claims": [{"text": self.fact, "origin": "stated", "ref": "known_facts[0]"}],
            "reviews": reviews,
            "proposal": {"terms": self.terms(euros), "depends_on": rests_on, "values": self.values(euros),
                "authority": seller_lines()},
        })
    }
}

pub fn review(claim: &str, verdict: &str) -> Value {
    let reason = if verdict == "accept" { "" } else { "Nobody has shown this" };
    json!({"claim_id": claim, "verdict": verdict, "reason": reason})
}

pub fn buyer_lines() -> Value {
    json!([{"term": 0, "clauses": ["must_haves[0]"]}, {"term": 1, "clauses": ["may_agree_to[0]"]}])
}

pub fn seller_lines() -> Value {
    json!([{"term": 0, "clauses": ["may_agree_to[0]"]}, {"term": 1, "clauses": ["must_haves[0]", "may_agree_to[1]"]}])
}

pub fn agree(hash: &str, authority: &Value) -> Value {
    json!({"message": "Agreed.", "status": "agree", "accepts": hash, "authority": authority,
        "reviews": [{"claim_id": "B2.1", "verdict": "accept", "reason": ""}]})
}
