//! Pictures in SVG, drawn by the server: bars of whole numbers, with what they say in words beside them. Colours are the
//! stylesheet's, by class.

use std::fmt::Write as _;

/// A bar: stretches of it one after another, and a mark.
#[derive(Debug, Default)]
pub(crate) struct Bar {
    /// What the whole width is.
    whole: u64,
    stretches: Vec<(u64, u64, &'static str)>,
    marks: Vec<u64>,
    label: String,
}

/// Width of a bar in units of its own.
const WIDTH: u64 = 1000;
const HEIGHT: u64 = 28;

impl Bar {
    /// A bar of this width in all. `label` says in words what is drawn.
    pub fn of(whole: u64, label: String) -> Self {
        Self { whole: whole.max(1), label, ..Self::default() }
    }

    /// Colours from here to there.
    pub fn stretch(mut self, from: u64, to: u64, class: &'static str) -> Self {
        self.stretches.push((from, to, class));
        self
    }

    pub fn mark(mut self, at: u64) -> Self {
        self.marks.push(at);
        self
    }

    pub fn svg(&self) -> String {
        let mut out = open(&self.label, HEIGHT);
        let _ = write!(out, r#"<rect class="bar-ground" width="{WIDTH}" height="{HEIGHT}" rx="6"/>"#);
        for (from, to, class) in &self.stretches {
            let (x, end) = (self.at(*from), self.at(*to));
            let wide = end.saturating_sub(x);
            let _ = write!(out, r#"<rect class="{class}" x="{x}" width="{wide}" height="{HEIGHT}"/>"#);
        }
        for mark in &self.marks {
            let x = self.at(*mark).min(WIDTH.saturating_sub(4));
            let _ = write!(out, r#"<rect class="bar-mark" x="{x}" width="4" height="{HEIGHT}"/>"#);
        }
        out.push_str("</svg>");
        out
    }

    /// Where a value is; beyond the end is the end.
    fn at(&self, value: u64) -> u64 {
        scaled(value, self.whole, WIDTH)
    }
}

/// Columns side by side, the highest as high as the picture.
pub(crate) fn columns(values: &[u64], label: &str) -> String {
    const TALL: u64 = 80;
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    let count = u64::try_from(values.len()).unwrap_or(1).max(1);
    let step = WIDTH / count;
    let wide = (step.saturating_mul(3) / 4).max(1);
    let mut out = open(label, TALL);
    for (at, value) in (0_u64..).zip(values) {
        let high = scaled(*value, highest, TALL).max(u64::from(*value > 0));
        let (x, y) = (at.saturating_mul(step), TALL.saturating_sub(high));
        let _ = write!(out, r#"<rect class="bar-good" x="{x}" y="{y}" width="{wide}" height="{high}"/>"#);
    }
    let _ = write!(out, r#"<rect class="bar-mark" y="{}" width="{WIDTH}" height="1"/></svg>"#, TALL - 1);
    out
}

fn open(label: &str, height: u64) -> String {
    let label = label.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    format!(
        r#"<svg class="bar" viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" role="img" aria-label="{label}">"#
    )
}

/// `value` of `whole`, on a scale of `to`; at most `to`.
fn scaled(value: u64, whole: u64, to: u64) -> u64 {
    let wide = u128::from(value.min(whole)).saturating_mul(u128::from(to)) / u128::from(whole.max(1));
    u64::try_from(wide).unwrap_or(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_on_the_scale() {
        let check = |value, whole, expected| assert_eq!(scaled(value, whole, WIDTH), expected);
        check(0, 10, 0);
        check(5, 10, 500);
        check(u64::MAX, u64::MAX, 1000);
        check(11, 10, 1000);
        check(1, 0, 0);
    }

    #[test]
    fn labels_cannot_leave_their_attribute() {
        let svg = Bar::of(10, "a \"b\" <c> &".to_owned()).stretch(0, 5, "bar-good").svg();
        assert!(svg.contains(r#"aria-label="a &quot;b&quot; &lt;c> &amp;""#), "{svg}");
        assert!(svg.contains(r#"x="0" width="500""#), "{svg}");
    }
}
