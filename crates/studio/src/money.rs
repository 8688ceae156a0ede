//! Prices and costs as people read them, in the currency of the installation.

use atelier_domain::compute::size::Price;

/// Millionths in one.
const MILLION: u64 = 1_000_000;
/// Billionths in one.
const BILLION: u64 = 1_000_000_000;

/// A price for an hour, exactly, with at least two decimals: `€0.40`, `€0.0125`.
pub fn price(price: Price, currency: &str) -> String {
    let fraction = format!("{:06}", price.0 % MILLION);
    let kept = fraction.trim_end_matches('0').len().max(2);
    with_sign(&format!("{}.{}", atelier_domain::text::grouped(price.0 / MILLION), &fraction[..kept]), currency)
}

/// The same as it is typed into a field: `0.4`, `1.25`, `3`.
pub fn typed_price(price: Price) -> String {
    let text = format!("{}.{:06}", price.0 / MILLION, price.0 % MILLION);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A cost in billionths, rounded to what matters: `€212.40`, `€0.0034`; what is less than the last digit is said so.
pub fn cost(billionths: u64, currency: &str) -> String {
    let (digits, unit) = if billionths >= BILLION / 10 || billionths == 0 { (2, 10_000_000) } else { (4, 100_000) };
    let parts = (billionths + unit / 2) / unit;
    if parts == 0 && billionths > 0 {
        return format!("under {}", with_sign("0.0001", currency));
    }
    let scale = if digits == 2 { 100 } else { 10_000 };
    let text = format!("{}.{:0width$}", atelier_domain::text::grouped(parts / scale), parts % scale, width = digits);
    with_sign(&text, currency)
}

/// A cost on the scale of a chart whose lines are so far apart: with as many decimals as that needs, `€600`, `€0.25`.
pub fn on_scale(billionths: u64, step: u64, currency: &str) -> String {
    let digits = (0..=9_u32).find(|digits| step.is_multiple_of(10_u64.pow(9 - digits))).unwrap_or(9);
    let unit = 10_u64.pow(9 - digits);
    let (parts, scale) = (billionths / unit, 10_u64.pow(digits));
    let whole = atelier_domain::text::grouped(parts / scale);
    let number = match digits {
        0 => whole,
        digits => format!("{whole}.{:0width$}", parts % scale, width = digits as usize),
    };
    with_sign(&number, currency)
}

/// A number with the sign before it, or the code after it where there is no sign that everybody knows.
fn with_sign(number: &str, currency: &str) -> String {
    match currency {
        "EUR" => format!("€{number}"),
        "USD" => format!("${number}"),
        "GBP" => format!("£{number}"),
        other => format!("{number} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_exact_and_costs_are_rounded() {
        for (millionths, said) in
            [(0, "€0.00"), (400_000, "€0.40"), (12_500, "€0.0125"), (1_440_000, "€1.44"), (2_500_000_000, "€2,500.00")]
        {
            assert_eq!(price(Price(millionths), "EUR"), said);
        }
        for (millionths, typed) in [(0, "0"), (400_000, "0.4"), (3_000_000, "3"), (1, "0.000001")] {
            assert_eq!(typed_price(Price(millionths)), typed);
        }
        for (billionths, said) in [
            (0, "€0.00"),
            (10, "under €0.0001"),
            (3_400_000, "€0.0034"),
            (99_999_999, "€0.1000"),
            (100_000_000, "€0.10"),
            (212_404_000_000, "€212.40"),
        ] {
            assert_eq!(cost(billionths, "EUR"), said, "{billionths}");
        }
        for (billionths, step, said) in [
            (0, BILLION, "€0"),
            (600 * BILLION, 200 * BILLION, "€600"),
            (1_250 * BILLION, 50 * BILLION, "€1,250"),
            (BILLION / 2, BILLION / 4, "€0.50"),
            (30, 10, "€0.00000003"),
        ] {
            assert_eq!(on_scale(billionths, step, "EUR"), said);
        }
        assert_eq!(cost(BILLION, "CHF"), "1.00 CHF");
        assert_eq!(cost(u64::MAX - BILLION, "USD"), "$18,446,744,072.71");
    }
}
