//! Plots as SVG: bars, a matrix, points. Every value stands beside its mark, so that a plot is read without colour.
use super::page::escape;
use std::fmt::Write;

/// Label, value, interval.
pub type Bar = (String, f64, Option<(f64, f64)>);

/// A plot as data.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// A bar for each label, from zero, with its interval if there is one.
    Bars {
        /// What it shows.
        title: String,
        /// What the values are.
        axis: String,
        /// Label, value, interval.
        items: Vec<Bar>,
    },
    /// A value from 0 to 1 for each pair of labels: the row against the column.
    Matrix {
        /// What it shows.
        title: String,
        /// Rows and columns.
        labels: Vec<String>,
        /// The values, `None` where there is none.
        cells: Vec<Vec<Option<f64>>>,
    },
    /// Labelled points.
    Points {
        /// What it shows.
        title: String,
        /// What the horizontal values are.
        x_axis: String,
        /// What the vertical values are.
        y_axis: String,
        /// Label, x, y.
        points: Vec<(String, f64, f64)>,
    },
}

impl Plot {
    /// What it shows.
    pub fn title(&self) -> &str {
        match self {
            Self::Bars { title, .. } | Self::Matrix { title, .. } | Self::Points { title, .. } => {
                title
            }
        }
    }
}

/// Width of a character of a label in pixels, by and large.
const CHARACTER: f64 = 7.2;
/// Longest label in characters; longer ones are cut.
const LABEL: usize = 28;

/// The plot as an SVG element. Its classes get their colours from the page.
pub(super) fn to_svg(plot: &Plot) -> String {
    match plot {
        Plot::Bars { axis, items, title } => bars(title, axis, items),
        Plot::Matrix {
            labels,
            cells,
            title,
        } => matrix(title, labels, cells),
        Plot::Points {
            x_axis,
            y_axis,
            points,
            title,
        } => scatter(title, x_axis, y_axis, points),
    }
}

fn open(title: &str, width: f64, height: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"{}\">\n",
        escape(title)
    )
}

fn label(text: &str) -> String {
    let mut cut: String = text.chars().take(LABEL).collect();
    if cut.len() < text.len() {
        cut.push('\u{2026}');
    }
    escape(&cut)
}

fn widest(labels: impl Iterator<Item = usize>) -> f64 {
    labels.max().unwrap_or(0).min(LABEL + 1) as f64 * CHARACTER
}

fn bars(title: &str, axis: &str, items: &[Bar]) -> String {
    const ROW: f64 = 28.0;
    const LENGTH: f64 = 360.0;
    let left = widest(items.iter().map(|(label, ..)| label.chars().count())) + 10.0;
    let (width, height) = (left + LENGTH + 70.0, ROW * items.len() as f64 + 46.0);
    let most = (items.iter())
        .map(|(_, value, interval)| interval.map_or(*value, |(_, high)| high.max(*value)))
        .fold(0.0, f64::max);
    let ticks = ticks(0.0, most);
    let end = ticks.last().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let x = |value: f64| left + LENGTH * value / end;
    let mut svg = open(title, width, height);
    let bottom = ROW * items.len() as f64 + 4.0;
    for &tick in &ticks {
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{0:.1}\" y1=\"0\" x2=\"{0:.1}\" y2=\"{bottom:.1}\"/>\
             <text class=\"soft\" x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\">{2}</text>",
            x(tick),
            bottom + 16.0,
            short(tick)
        );
    }
    for (row, (name, value, interval)) in items.iter().enumerate() {
        let top = ROW * row as f64 + 4.0;
        let middle = top + ROW / 2.0 - 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"bar\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            left - 8.0,
            middle + 5.0,
            label(name),
            (x(*value) - left).max(0.0),
            ROW - 8.0
        );
        if let Some((low, high)) = interval {
            let _ = writeln!(
                svg,
                "<path class=\"whisker\" fill=\"none\" d=\"M{0:.1} {2:.1}v10m0 -5H{1:.1}m0 -5v10\"/>",
                x(*low),
                x(*high),
                middle - 5.0
            );
        }
        let beside = interval.map_or(*value, |(_, high)| high.max(*value));
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{value:.2}</text>",
            x(beside) + 6.0,
            middle + 5.0
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n</svg>",
        left + LENGTH / 2.0,
        height - 8.0,
        escape(axis)
    );
    svg
}

fn matrix(title: &str, labels: &[String], cells: &[Vec<Option<f64>>]) -> String {
    const CELL: f64 = 48.0;
    let left = widest(labels.iter().map(|label| label.chars().count())) + 10.0;
    // The columns' labels are turned, so that their height is their length.
    let top = left;
    let size = CELL * labels.len() as f64;
    let mut svg = open(title, left + size + 4.0, top + size + 4.0);
    for (index, name) in labels.iter().enumerate() {
        let middle = CELL * index as f64 + CELL / 2.0;
        let _ = writeln!(
            svg,
            "<text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"end\">{2}</text>\
             <text transform=\"translate({3:.1} {4:.1}) rotate(-90)\">{2}</text>",
            left - 8.0,
            top + middle + 5.0,
            label(name),
            left + middle + 5.0,
            top - 8.0
        );
    }
    for (row, values) in cells.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            let (x, y) = (left + CELL * column as f64, top + CELL * row as f64);
            let (shade, text) = match value {
                Some(value) => (value.clamp(0.0, 1.0), format!("{:.0}%", 100.0 * value)),
                None => (0.0, "\u{2013}".into()),
            };
            let _ = writeln!(
                svg,
                "<rect class=\"cell\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{CELL}\" height=\"{CELL}\" \
                 style=\"fill: rgba(var(--tint), {:.2})\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                0.6 * shade,
                x + CELL / 2.0,
                y + CELL / 2.0 + 5.0
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn scatter(title: &str, x_axis: &str, y_axis: &str, points: &[(String, f64, f64)]) -> String {
    const WIDTH: f64 = 420.0;
    const HEIGHT: f64 = 320.0;
    const LEFT: f64 = 70.0;
    const TOP: f64 = 12.0;
    let right = widest(points.iter().map(|(label, ..)| label.chars().count())) + 20.0;
    let range = |of: fn(&(String, f64, f64)) -> f64| {
        let low = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        ticks(low, high)
    };
    let (x_ticks, y_ticks) = (range(|point| point.1), range(|point| point.2));
    let scale = |ticks: &[f64], value: f64| match (ticks.first(), ticks.last()) {
        (Some(low), Some(high)) if high > low => (value - low) / (high - low),
        _ => 0.5,
    };
    let x = |value: f64| LEFT + WIDTH * scale(&x_ticks, value);
    let y = |value: f64| TOP + HEIGHT * (1.0 - scale(&y_ticks, value));
    let mut svg = open(title, LEFT + WIDTH + right, TOP + HEIGHT + 50.0);
    for &tick in &x_ticks {
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{1:.1}\"/>\
             <text class=\"soft\" x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{3}</text>",
            x(tick),
            TOP + HEIGHT,
            TOP + HEIGHT + 18.0,
            short(tick)
        );
    }
    for &tick in &y_ticks {
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\"/>\
             <text class=\"soft\" x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
            y(tick),
            LEFT + WIDTH,
            LEFT - 8.0,
            y(tick) + 5.0,
            short(tick)
        );
    }
    // A label stands beside its mark, right or left, where it lies on no mark or label; else it moves down, and a line
    // leads to it.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| y(points[a].2).total_cmp(&y(points[b].2)));
    let mut taken: Vec<(f64, f64, f64)> = points
        .iter()
        .map(|point| (x(point.1) - 6.0, x(point.1) + 6.0, y(point.2) + 4.0))
        .collect();
    for index in order {
        let (name, px, py) = &points[index];
        let (cx, cy) = (x(*px), y(*py));
        let length = name.chars().count().min(LABEL + 1) as f64 * CHARACTER;
        let hit = |from: f64, at: f64| {
            (taken.iter().enumerate()).find(|&(other, &(begin, end, height))| {
                other != index && from < end && from + length > begin && (at - height).abs() < 13.0
            })
        };
        let (right, left) = (cx + 10.0, cx - 10.0 - length);
        let (mut from, mut at) = (right, cy + 4.0);
        if hit(right, at).is_some() && left > LEFT && hit(left, at).is_none() {
            from = left;
        }
        while let Some((_, &(_, _, height))) = hit(from, at) {
            at = height + 15.0;
        }
        taken.push((from, from + length, at));
        if at > cy + 5.0 {
            let _ = writeln!(
                svg,
                "<line class=\"axis\" x1=\"{cx:.1}\" y1=\"{cy:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
                from - 2.0,
                at - 4.0
            );
        }
        // Text is anchored at the mark's side, since its length is a guess.
        let (anchor, end) = if from < cx {
            (cx - 10.0, " text-anchor=\"end\"")
        } else {
            (from, "")
        };
        let _ = writeln!(
            svg,
            "<circle class=\"mark\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5\"/>\
             <text x=\"{anchor:.1}\" y=\"{at:.1}\"{end}>{}</text>",
            label(name)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text class=\"soft\" transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>",
        LEFT + WIDTH / 2.0,
        TOP + HEIGHT + 40.0,
        escape(x_axis),
        TOP + HEIGHT / 2.0,
        escape(y_axis)
    );
    svg
}

/// Round numbers that enclose a range, four to eight of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    if !low.is_finite() || !high.is_finite() {
        return vec![0.0, 1.0];
    }
    let span = if high > low {
        high - low
    } else {
        high.abs().max(1.0)
    };
    let raw = span / 5.0;
    let magnitude = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * magnitude)
        .into_iter()
        .find(|step| *step >= raw)
        .unwrap_or(10.0 * magnitude);
    let first = (low / step).floor();
    let count = ((high / step).ceil() - first).max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a handful of steps"
    )]
    (0..=count as usize)
        .map(|index| (first + index as f64) * step)
        .collect()
}

/// A tick's number without digits that say nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_enclose_the_range() {
        assert_eq!(ticks(0.0, 41.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks(0.0, 1.0).len(), 6);
        assert_eq!(ticks(3.0, 3.0).first(), Some(&3.0));
        assert_eq!(ticks(f64::INFINITY, f64::NEG_INFINITY), [0.0, 1.0]);
        assert_eq!(short(0.250), "0.25");
        assert_eq!(short(-0.0), "0");
    }

    #[test]
    fn every_value_stands_beside_its_mark() {
        let svg = to_svg(&Plot::Bars {
            title: "t".into(),
            axis: "percent".into(),
            items: vec![
                ("a & b".into(), 12.345, Some((10.0, 15.0))),
                ("c".into(), 50.0, None),
            ],
        });
        assert!(
            svg.contains("a &amp; b") && svg.contains("12.35") && svg.contains("50.00"),
            "{svg}"
        );
        let svg = to_svg(&Plot::Matrix {
            title: "t".into(),
            labels: vec!["a".into(), "b".into()],
            cells: vec![vec![None, Some(0.75)], vec![Some(0.25), None]],
        });
        assert!(svg.contains("75%") && svg.contains("25%"), "{svg}");
        let svg = to_svg(&Plot::Points {
            title: "t".into(),
            x_axis: "x".into(),
            y_axis: "y".into(),
            points: vec![("a".into(), 1.0, 2.0), ("b".into(), 1.0, 2.0)],
        });
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(!svg.contains("NaN"), "{svg}");
    }
}
