//! Charts in SVG: throughput by threads, tails, cost by live ids, bytes per id.
//!
//! Every line carries its name at its end, in its own colour; names that would overlap are moved
//! apart. hapax is drawn last and thickest, the baseline and the floor are dashed.

use super::{
    places::{self, PERCENTILES},
    record::Book,
    tables::{self, Weights},
};
use crate::{
    contender::{BASELINE, CONTENDERS, FLOOR, HAPAX, Row, STATES},
    rush::Traffic,
    scale::Count,
    script::{Access, Workload},
};
use plotters::{
    coord::{ranged1d::ValueFormatter, types::RangedCoordf64},
    prelude::*,
    style::{
        FontFamily,
        text_anchor::{HPos, Pos, VPos},
    },
};
use std::{error::Error, ops::Range, path::Path};

/// What went wrong while drawing.
pub type DrawError = Box<dyn Error>;

const SIZE: (u32, u32) = (860, 520);
const ROOM_FOR_NAMES: i32 = 150;
const INK: RGBColor = RGBColor(40, 44, 52);
const FAINT: RGBColor = RGBColor(226, 229, 234);
const HAPAX_RED: RGBColor = RGBColor(200, 16, 46);

/// The files that [`draw`] writes, with the text for those who cannot see them.
pub const FILES: &[(&str, &str)] = &[
    ("throughput.svg", "Calls per second by number of threads"),
    (
        "latency.svg",
        "Percentiles of the time of one call with 16 threads",
    ),
    ("cost.svg", "Time of one call by number of live ids"),
    ("bytes.svg", "Bytes per live id"),
];

/// Draws every chart into `folder`.
///
/// # Errors
///
/// When a file cannot be written.
pub fn draw(book: &Book, folder: &Path) -> Result<(), DrawError> {
    throughput(book, &folder.join(FILES[0].0))?;
    latency(book, &folder.join(FILES[1].0))?;
    cost(book, &folder.join(FILES[2].0))?;
    bytes(book, &folder.join(FILES[3].0))
}

/// A line of a chart: its row and its points, from left to right.
struct Line {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

/// Everything about a chart of lines but its lines.
struct Frame<'a> {
    title: &'a str,
    note: &'a str,
    x: &'a [(f64, String)],
    y_title: &'a str,
    y: fn(f64) -> String,
}

fn throughput(book: &Book, file: &Path) -> Result<(), DrawError> {
    const THREADS: [usize; 4] = [1, 2, 4, 16];
    let x: Vec<_> = (0..)
        .map(f64::from)
        .zip(["1 thread", "2 threads", "4 threads", "16 threads"].map(str::to_owned))
        .collect();
    let lines = gather(CONTENDERS, |row| {
        THREADS.iter().map(|&threads| {
            let place = places::crowd_place(Traffic::New, places::LIVE, threads);
            book.value(place, row.name, "calls_per_second")
        })
    });
    let frame = Frame {
        title: "Calls per second by threads",
        note: "new ids, 100k live at the start, higher is better, log axis",
        x: &x,
        y_title: "calls per second",
        y: tables::short,
    };
    draw_lines(file, &frame, &lines)
}

fn latency(book: &Book, file: &Path) -> Result<(), DrawError> {
    let names = PERCENTILES.iter().map(|(name, _)| name.replace("_ns", ""));
    let x: Vec<_> = (0..).map(f64::from).zip(names).collect();
    let rows: Vec<&Row> = CONTENDERS.iter().copied().chain([FLOOR]).collect();
    let lines = gather(&rows, |row| {
        PERCENTILES
            .iter()
            .map(|(metric, _)| book.value(places::latency_place(16), row.name, metric))
    });
    let frame = Frame {
        title: "Time of one call with 16 threads on few cores",
        note: "5 % duplicates, lower is better, log axis; the floor waits for nobody: its tail is the machine's",
        x: &x,
        y_title: "time of one call",
        y: tables::time,
    };
    draw_lines(file, &frame, &lines)
}

fn cost(book: &Book, file: &Path) -> Result<(), DrawError> {
    let sizes = [1_000, 10_000, 100_000, 1_000_000, 10_000_000].map(|size| {
        let place = places::single_place(Workload::New, Access::Independent, size);
        (size, place)
    });
    let known: Vec<_> = sizes
        .into_iter()
        .filter(|(_, place)| book.value(*place, HAPAX.name, "ns_per_call").is_some())
        .collect();
    let x: Vec<_> = (0..)
        .map(f64::from)
        .zip(
            known
                .iter()
                .map(|&(size, _)| format!("{} live", Count(size))),
        )
        .collect();
    let rows: Vec<&Row> = CONTENDERS.iter().copied().chain([FLOOR]).collect();
    let lines = gather(&rows, |row| {
        known
            .iter()
            .map(|&(_, place)| book.value(place, row.name, "ns_per_call"))
    });
    let frame = Frame {
        title: "Time of one call by live ids",
        note: "new ids, one thread, lower is better, log axis",
        x: &x,
        y_title: "time of one call",
        y: tables::time,
    };
    draw_lines(file, &frame, &lines)
}

fn gather<I: Iterator<Item = Option<f64>>>(
    rows: &[&'static Row],
    values: impl Fn(&'static Row) -> I,
) -> Vec<Line> {
    let line = |row: &&'static Row| Line {
        name: row.name,
        points: (0..)
            .map(f64::from)
            .zip(values(row))
            .filter_map(|(x, y)| Some((x, y?)))
            .collect(),
    };
    rows.iter()
        .map(line)
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn draw_lines(file: &Path, frame: &Frame<'_>, lines: &[Line]) -> Result<(), DrawError> {
    let values = || {
        lines
            .iter()
            .flat_map(|line| line.points.iter().map(|point| point.1))
    };
    if lines.is_empty() || frame.x.is_empty() {
        return Ok(());
    }
    let low = values().fold(f64::MAX, f64::min) / 1.6;
    let high = values().fold(0.0, f64::max) * 1.6;
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    heading(&root, frame.title, frame.note)?;
    let last = frame.x.len() as f64 - 1.0;
    let mut chart = ChartBuilder::on(&root)
        .margin_top(64)
        .margin_left(14)
        .margin_right(ROOM_FOR_NAMES)
        .margin_bottom(12)
        .x_label_area_size(34)
        .y_label_area_size(76)
        .build_cartesian_2d(
            Spots(frame.x.len(), -0.15..last + 0.05),
            (low..high).log_scale(),
        )?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE.mix(0.0))
        .bold_line_style(FAINT)
        .axis_style(INK.mix(0.5))
        .label_style(text(13, INK))
        .x_label_formatter(&|x| label_at(frame.x, *x))
        .y_label_formatter(&|y| (frame.y)(*y).replace(".00 ", " ").replace(".0 ", " "))
        .y_desc(frame.y_title)
        .axis_desc_style(text(13, INK))
        .draw()?;
    // hapax last, so that nothing lies on top of it.
    let mut in_order: Vec<&Line> = lines.iter().collect();
    in_order.sort_by_key(|line| line.name == HAPAX.name);
    for line in &in_order {
        let style = colour(line.name).stroke_width(if line.name == HAPAX.name { 4 } else { 2 });
        let points = line.points.iter().copied();
        if [BASELINE.name, FLOOR.name].contains(&line.name) {
            chart.draw_series(DashedLineSeries::new(points, 7, 5, style))?;
        } else {
            chart.draw_series(LineSeries::new(points, style))?;
        }
        let size = if line.name == HAPAX.name { 5 } else { 3 };
        let dot = |&point| Circle::new(point, size, colour(line.name).filled());
        chart.draw_series(line.points.iter().map(dot))?;
    }
    let mut ends: Vec<End> = in_order
        .iter()
        .filter_map(|line| {
            let end = chart.backend_coord(line.points.last()?);
            Some(End {
                name: line.name,
                from: end,
                label_y: end.1,
            })
        })
        .collect();
    spread(&mut ends, 60, SIZE.1 as i32 - 50);
    let names_x = SIZE.0 as i32 - ROOM_FOR_NAMES + 18;
    for end in &ends {
        let to = (names_x - 4, end.label_y);
        let lead = vec![
            (end.from.0 + 5, end.from.1),
            (names_x - 14, end.label_y),
            to,
        ];
        root.draw(&PathElement::new(lead, colour(end.name).mix(0.35)))?;
        let style = text(
            if end.name == HAPAX.name { 16 } else { 13 },
            colour(end.name),
        )
        .pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(end.name, (names_x, end.label_y), style))?;
    }
    root.present()?;
    Ok(())
}

fn bytes(book: &Book, file: &Path) -> Result<(), DrawError> {
    let weights = |row: &Row, workload| Weights::of(book, row.name, workload, "bytes_per_id");
    let settled: Vec<&Row> = STATES.to_vec();
    let mut bars: Vec<(&Row, Option<f64>, Weights)> = CONTENDERS
        .iter()
        .chain(&settled)
        .filter(|row| row.name != "hapax_grown")
        .filter_map(|row| {
            let sized = weights(row, "sized").map(|weights| weights.mean);
            Some((*row, sized, weights(row, "grown")?))
        })
        .collect();
    if bars.is_empty() {
        return Ok(());
    }
    bars.sort_by(|one, other| one.2.mean.total_cmp(&other.2.mean));
    let most = bars.iter().map(|bar| bar.2.worst.max(bar.1.unwrap_or(0.0)));
    let most = most.fold(0.0, f64::max) * 1.12;
    let height = 96 + 34 * bars.len() as u32;
    let root = SVGBackend::new(file, (SIZE.0, height)).into_drawing_area();
    root.fill(&WHITE)?;
    heading(
        &root,
        "Bytes per live id",
        "26-byte ids, asked of the allocator, mean over sizes of one doubling; fewer is better. Bar: grown \
         from empty, thin line: at the worst size, dot: sized beforehand",
    )?;
    let (left, right) = (150, SIZE.0 as i32 - 60);
    let at = |bytes: f64| left + ((right - left) as f64 * bytes / most) as i32;
    for (place, (row, sized, grown)) in bars.iter().enumerate() {
        let middle = 84 + 34 * place as i32;
        let colour = colour(row.name);
        let style = text(if row.name == HAPAX.name { 15 } else { 13 }, colour)
            .pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(row.name, (left - 10, middle), style))?;
        let bar = [(left, middle - 9), (at(grown.mean), middle + 9)];
        root.draw(&Rectangle::new(bar, colour.mix(0.75).filled()))?;
        let reach = vec![(at(grown.mean), middle), (at(grown.worst), middle)];
        root.draw(&PathElement::new(reach, colour.stroke_width(2)))?;
        if let Some(sized) = sized {
            root.draw(&Circle::new((at(*sized), middle), 5, WHITE.filled()))?;
            root.draw(&Circle::new((at(*sized), middle), 5, INK.stroke_width(2)))?;
        }
        let value = text(13, INK).pos(Pos::new(HPos::Left, VPos::Center));
        let end = at(grown.worst.max(sized.unwrap_or(0.0))) + 10;
        root.draw(&Text::new(
            format!("{:.0}", grown.mean),
            (end, middle),
            value,
        ))?;
    }
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn heading(root: &Area<'_>, title: &str, note: &str) -> Result<(), DrawError> {
    root.draw(&Text::new(title.to_owned(), (16, 14), text(20, INK)))?;
    root.draw(&Text::new(
        note.to_owned(),
        (16, 40),
        text(12, INK.mix(0.75)),
    ))?;
    Ok(())
}

fn text<C: Color>(size: u32, colour: C) -> TextStyle<'static> {
    let mut style = TextStyle::from((FontFamily::SansSerif, size).into_font());
    style.color = colour.to_backend_color();
    style
}

/// Where a line ends and where its name goes.
struct End {
    name: &'static str,
    from: (i32, i32),
    label_y: i32,
}

/// Moves names apart that would overlap, within `top..bottom`, keeping their order.
fn spread(ends: &mut [End], top: i32, bottom: i32) {
    const APART: i32 = 17;
    ends.sort_by_key(|end| end.label_y);
    let mut least = top;
    for end in ends.iter_mut() {
        end.label_y = end.label_y.max(least);
        least = end.label_y + APART;
    }
    let mut most = bottom;
    for end in ends.iter_mut().rev() {
        end.label_y = end.label_y.min(most);
        most = end.label_y - APART;
    }
}

fn label_at(labels: &[(f64, String)], x: f64) -> String {
    labels
        .iter()
        .find(|(at, _)| (at - x).abs() < 1e-6)
        .map_or_else(String::new, |(_, label)| label.clone())
}

fn colour(name: &str) -> RGBColor {
    match name {
        "hapax" | "hapax_settled" => HAPAX_RED,
        "floor" => RGBColor(150, 156, 166),
        "mutex_map" => INK,
        "mutex_amortised" => RGBColor(116, 92, 62),
        "sharded_mutex" => RGBColor(206, 130, 30),
        "dashmap" => RGBColor(31, 119, 180),
        "scc" => RGBColor(23, 160, 150),
        "papaya" => RGBColor(46, 139, 60),
        "quick_cache" => RGBColor(122, 160, 20),
        "moka" => RGBColor(128, 70, 170),
        "mini_moka" => RGBColor(186, 120, 210),
        "cached" => RGBColor(100, 110, 220),
        _ => INK,
    }
}

/// An axis whose marks are spots in a row, not quantities.
struct Spots(usize, Range<f64>);

impl Ranged for Spots {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.1.clone()).map(value, limit)
    }

    fn key_points<Hint: plotters::coord::ranged1d::KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        (0..self.0).map(|spot| spot as f64).collect()
    }

    fn range(&self) -> Range<f64> {
        self.1.clone()
    }
}

impl ValueFormatter<f64> for Spots {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_overlap() {
        let end = |label_y| End {
            name: "hapax",
            from: (0, label_y),
            label_y,
        };
        let mut ends = [100, 101, 102, 490].map(end);
        spread(&mut ends, 60, 480);
        let places: Vec<i32> = ends.iter().map(|end| end.label_y).collect();
        assert!(
            places.windows(2).all(|pair| pair[1] - pair[0] >= 17),
            "{places:?}"
        );
        assert!(places.iter().all(|place| (60..=480).contains(place)));
    }

    #[test]
    fn every_contender_has_a_colour_of_its_own() {
        let mut colours: Vec<_> = CONTENDERS.iter().map(|row| colour(row.name)).collect();
        colours.sort_by_key(|colour| (colour.0, colour.1, colour.2));
        colours.dedup();
        assert_eq!(colours.len(), CONTENDERS.len());
    }
}
