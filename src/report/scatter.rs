//! A scatter plot on logarithmic axes with the identity line, as one SVG file.
use super::page::escape;
use std::fmt::Write;

/// A plot of points around the line on which both axes agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis shows.
    pub x: String,
    /// What the vertical axis shows.
    pub y: String,
    /// The points; those that are not positive and finite are left out.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Shown where the pointer rests on it.
    pub name: String,
    /// A full circle, or an empty one.
    pub filled: bool,
}

const SIZE: f64 = 640.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 50.0;
const SIDE: f64 = 520.0;

/// The plot. Both axes have the same range, so that the identity is the diagonal. Colours follow the reader's choice of
/// light or dark; full and empty circles can be told apart without them.
pub fn scatter(plot: &Scatter) -> String {
    let points: Vec<&Point> = (plot.points.iter())
        .filter(|point| [point.x, point.y].iter().all(|v| v.is_finite() && *v > 0.0))
        .collect();
    let values = || points.iter().flat_map(|point| [point.x, point.y]);
    let low = values().fold(1.0, f64::min).log10() - 0.05;
    let high = values().fold(1.0, f64::max).log10() + 0.05;
    let span = (high - low).max(0.1);
    let place = |value: f64| (value.log10() - low) / span * SIDE;
    let (bottom, right) = (TOP + SIDE, LEFT + SIDE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" width=\"{SIZE}\" height=\"{SIZE}\" \
         font-family=\"sans-serif\" font-size=\"13\" role=\"img\" aria-label=\"{title}\">\n\
         <style>svg{{background:#fff;color:#111}}.d{{fill:none;stroke:#06c;stroke-width:1.5}}.f{{fill:#06c}}\
         @media(prefers-color-scheme:dark){{svg{{background:#111;color:#eee}}.d{{stroke:#6bf}}.f{{fill:#6bf}}}}</style>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"16\" fill=\"currentColor\">{title}</text>\n\
         <rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"currentColor\"/>\n\
         <line x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{TOP}\" stroke=\"currentColor\" stroke-dasharray=\"6 4\"/>\n",
        title = escape(&plot.title)
    );
    for tick in ticks(low, low + span) {
        let at = place(tick);
        let (x, y) = (LEFT + at, bottom - at);
        let label = label(tick);
        let _ = writeln!(
            svg,
            "<g fill=\"currentColor\"><line x1=\"{x:.1}\" y1=\"{bottom}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"currentColor\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\
             <line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"currentColor\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text></g>",
            bottom + 5.0,
            bottom + 20.0,
            LEFT - 5.0,
            LEFT - 9.0,
            y + 4.0,
        );
    }
    let middle = TOP + SIDE / 2.0;
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>\n\
         <text x=\"22\" y=\"{middle:.1}\" text-anchor=\"middle\" fill=\"currentColor\" transform=\"rotate(-90 22 {middle:.1})\">{}</text>\n",
        LEFT + SIDE / 2.0,
        bottom + 42.0,
        escape(&plot.x),
        escape(&plot.y),
    );
    for point in points {
        let _ = writeln!(
            svg,
            "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\"><title>{}: {} / {}</title></circle>",
            if point.filled { "d f" } else { "d" },
            LEFT + place(point.x),
            bottom - place(point.y),
            escape(&point.name),
            super::number::factor(point.x),
            super::number::factor(point.y),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// 1, 2 and 5 times powers of ten within the range of exponents.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let mut ticks = Vec::new();
    for exponent in low.floor() as i32..=high.ceil() as i32 {
        for digit in [1.0, 2.0, 5.0] {
            let value = digit * 10f64.powi(exponent);
            if (low..=high).contains(&value.log10()) && (digit == 1.0 || high - low < 2.0) {
                ticks.push(value);
            }
        }
    }
    ticks
}

fn label(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_agree_lie_on_the_diagonal_and_names_are_escaped() {
        let point = |x: f64, y: f64| Point {
            x,
            y,
            name: "a<b".to_owned(),
            filled: true,
        };
        let svg = scatter(&Scatter {
            title: "t & u".to_owned(),
            x: "x".to_owned(),
            y: "y".to_owned(),
            points: vec![
                point(10.0, 10.0),
                point(0.1, 0.1),
                point(f64::NAN, 1.0),
                point(0.0, 1.0),
            ],
        });
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a&lt;b") && svg.contains("t &amp; u"));
        for circle in svg.lines().filter(|line| line.starts_with("<circle")) {
            let number = |name: &str| -> f64 {
                let rest = &circle[circle.find(name).unwrap() + name.len()..];
                rest[..rest.find('"').unwrap()].parse().unwrap()
            };
            let (x, y) = (number("cx=\""), number("cy=\""));
            assert!(((x - LEFT) - (TOP + SIDE - y)).abs() < 0.11, "{circle}");
        }
    }
}
