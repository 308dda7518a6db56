//! Figures as pictures, in SVG.

use plotters::prelude::*;

/// Ours, and everybody else.
const OURS: RGBColor = RGBColor(0, 102, 153);
const OTHERS: RGBColor = RGBColor(170, 178, 186);
const WIDTH: u32 = 720;
const FONT: &str = "sans-serif";

/// One bar.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    /// As it is written beside it.
    pub(super) label: String,
    pub(super) ours: bool,
}

/// The first one on top, each with its name and figure.
pub(super) fn bars(title: &str, bars: &[Bar]) -> anyhow::Result<String> {
    let mut picture = String::new();
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let height = 60 + 28 * u32::try_from(bars.len())?;
    {
        let area = SVGBackend::with_string(&mut picture, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        // Room for the figure behind the longest bar.
        let (across, down) = (0.0..most * 1.18, (0..bars.len()).into_segmented());
        let mut chart = ChartBuilder::on(&area)
            .caption(title, (FONT, 16))
            .margin(10)
            .set_label_area_size(LabelAreaPosition::Left, 130)
            .build_cartesian_2d(across, down)?;
        let place = |row: usize| bars.len() - 1 - row;
        let name = |row: &SegmentValue<usize>| match row {
            SegmentValue::CenterOf(row) if *row < bars.len() => bars[place(*row)].name.clone(),
            _ => String::new(),
        };
        chart.configure_mesh().disable_mesh().disable_x_axis().y_labels(bars.len()).y_label_formatter(&name).draw()?;
        chart.draw_series(bars.iter().enumerate().map(|(at, bar)| {
            let row = place(at);
            let corners = [(0.0, SegmentValue::Exact(row)), (bar.value, SegmentValue::Exact(row + 1))];
            let mut shape = Rectangle::new(corners, if bar.ours { OURS } else { OTHERS }.filled());
            shape.set_margin(4, 4, 0, 0);
            shape
        }))?;
        let labels = bars.iter().enumerate().map(|(at, bar)| {
            let label = Text::new(bar.label.clone(), (6, -6), (FONT, 13));
            EmptyElement::at((bar.value, SegmentValue::CenterOf(place(at)))) + label
        });
        chart.draw_series(labels)?;
        area.present()?;
    }
    Ok(picture)
}

/// What became of a figure from one step to the next.
pub(super) fn line(title: &str, across: &str, values: &[f64]) -> anyhow::Result<String> {
    let mut picture = String::new();
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    {
        let area = SVGBackend::with_string(&mut picture, (WIDTH, 300)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, (FONT, 16))
            .margin(14)
            .set_label_area_size(LabelAreaPosition::Left, 70)
            .set_label_area_size(LabelAreaPosition::Bottom, 40)
            .build_cartesian_2d(1..values.len().max(2), 0.0..most * 1.1)?;
        let figure = |value: &f64| super::table::figure(*value);
        chart.configure_mesh().x_desc(across).x_labels(values.len()).y_label_formatter(&figure).draw()?;
        let points = || values.iter().enumerate().map(|(step, value)| (step + 1, *value));
        chart.draw_series(LineSeries::new(points(), OURS.stroke_width(2)))?;
        chart.draw_series(points().map(|point| Circle::new(point, 4, OURS.filled())))?;
        area.present()?;
    }
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_its_name_and_its_figure() {
        let bar = |name: &str, value: f64| Bar {
            name: name.to_owned(),
            value,
            label: format!("{value} jobs/s"),
            ours: false,
        };
        let picture = bars("drain", &[bar("ours", 90.0), bar("limit", 100.0)]).unwrap();
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
        for text in ["drain", "ours", "limit", "90 jobs/s", "100 jobs/s"] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
    }

    #[test]
    fn a_line_has_a_point_for_each_step() {
        let picture = line("drain_1m", "fifth", &[5.0, 4.0, 4.5]).unwrap();
        assert_eq!(picture.matches("<circle").count(), 3, "{picture}");
    }
}
