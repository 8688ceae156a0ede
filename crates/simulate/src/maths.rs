//! Logarithm and exponential from the four basic operations alone, which every machine rounds alike. The
//! system's own differ in their last digit from one library to the next, and a report must not.

/// What lies above it is halved, so that what is left lies as near to 1 as can be.
const ROOT_OF_TWO: f64 = std::f64::consts::SQRT_2;

/// The natural logarithm of a positive number.
pub(crate) fn ln(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return f64::MIN;
    }
    // Numbers too small for a whole mantissa are scaled up first.
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * (1_u64 << 54) as f64, -54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut power = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1_023 + shift;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 1_023_u64 << 52);
    if mantissa > ROOT_OF_TWO {
        mantissa /= 2.0;
        power += 1;
    }
    // The series of the area tangent: below 0.1716, so that fifteen terms are plenty.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let sum = (0..15).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    2.0 * z * sum + f64::from(power) * std::f64::consts::LN_2
}

/// e to that power, within what a float holds.
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let power = (x / std::f64::consts::LN_2).round();
    let rest = x - power * std::f64::consts::LN_2;
    // The rest is below 0.35: twenty terms are plenty.
    let sum = (1..20).rev().fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    let exponent = (power as i64 + 1_023).clamp(1, 2_046).unsigned_abs();
    sum * f64::from_bits(exponent << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_agree_with_the_library_to_many_digits() {
        let mut x = 1e-300;
        while x < 1e300 {
            assert!((ln(x) - x.ln()).abs() <= 1e-12 * x.ln().abs().max(1.0), "ln {x}");
            x *= 1.37;
        }
        for step in -6_000..=6_000 {
            let x = f64::from(step) / 10.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-10, "exp {x}");
        }
        assert!(ln(f64::MIN_POSITIVE / 4.0).is_finite() && ln(0.0).is_finite() && exp(1e9).is_finite());
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
    }
}
