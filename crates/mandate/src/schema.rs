/// `(file name, JSON)` of the published JSON Schemas of this protocol's documents, ids `urn:countersign:schema:<name>`. They
/// say the shape; what no schema can say (checksums, real dates, limits of 2^64, cross rules) only the readers do.
pub const fn schemas() -> [(&'static str, &'static str); 11] {
    macro_rules! file {
        ($name:literal) => {
            ($name, include_str!(concat!("../../../docs/schemas/", $name)))
        };
    }
    [
        file!("action-ir.schema.json"),
        file!("authorization.schema.json"),
        file!("bond.schema.json"),
        file!("escalation-price.schema.json"),
        file!("fx-basis.schema.json"),
        file!("mandate-brief.schema.json"),
        file!("mandate-v0.1.schema.json"),
        file!("mandate-v0.2.schema.json"),
        file!("receipt.schema.json"),
        file!("verification.schema.json"),
        file!("verification-statement.schema.json"),
    ]
}
