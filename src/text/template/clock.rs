//! `strftime_now`: the current local time, formatted as C's `strftime` does in the C locale.

use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::{Error, ErrorKind};

/// Formats `now` in the local time zone. Microseconds (`%f`) are known as well, since templates are written for Python.
pub(super) fn strftime(format: &str, now: SystemTime) -> Result<String, Error> {
    let since = now.duration_since(UNIX_EPOCH);
    let (seconds, micros) = match &since {
        Ok(after) => (after.as_secs() as i64, after.subsec_micros()),
        Err(before) => (-(before.duration().as_secs() as i64), 0),
    };
    let time = Local::at(seconds).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {seconds} s")))?;
    let mut out = String::new();
    time.format(format, micros, 0, &mut out);
    Ok(out)
}

/// A time broken down by the C library, which knows time zones.
struct Local {
    tm: libc::tm,
    seconds: i64,
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

impl Local {
    fn at(seconds: i64) -> Option<Self> {
        let clock = seconds as libc::time_t;
        // SAFETY: `tm` is plain data for which zero is a valid value (its zone name may be null).
        let mut tm: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live locals; the function writes `tm` and keeps neither.
        let done = unsafe { libc::localtime_r(&clock, &mut tm) };
        (!done.is_null()).then_some(Local { tm, seconds })
    }

    fn zone(&self) -> String {
        if self.tm.tm_zone.is_null() {
            return String::new();
        }
        // SAFETY: the C library's zone names are terminated and live as long as the process.
        unsafe { std::ffi::CStr::from_ptr(self.tm.tm_zone) }.to_string_lossy().into_owned()
    }

    /// ISO 8601 year and week.
    fn iso_week(&self) -> (i64, i64) {
        let year = i64::from(self.tm.tm_year) + 1900;
        let weekday = i64::from((self.tm.tm_wday + 6) % 7);
        let week = (i64::from(self.tm.tm_yday) - weekday + 10) / 7;
        match week {
            0 => (year - 1, weeks_in(year - 1)),
            53 if weeks_in(year) < 53 => (year + 1, 1),
            week => (year, week),
        }
    }

    fn format(&self, format: &str, micros: u32, depth: usize, out: &mut String) {
        let tm = &self.tm;
        let year = i64::from(tm.tm_year) + 1900;
        let hour12 = if tm.tm_hour % 12 == 0 { 12 } else { tm.tm_hour % 12 };
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            // Flags of the GNU C library: no padding, spaces, zeros, upper case.
            let mut flag = None;
            let mut spec = chars.next();
            while let Some(c @ ('-' | '_' | '0' | '^' | '#')) = spec {
                flag = Some(c);
                spec = chars.next();
            }
            // Alternative forms are the plain ones in the C locale.
            while let Some('E' | 'O') = spec {
                spec = chars.next();
            }
            let Some(spec) = spec else {
                out.push('%');
                break;
            };
            let mut number = |value: i64, width: usize, pad: char| {
                let pad = match flag {
                    Some('-') => None,
                    Some('_') => Some(' '),
                    Some('0') => Some('0'),
                    _ => Some(pad),
                };
                let text = value.to_string();
                if let Some(pad) = pad {
                    out.extend(std::iter::repeat_n(pad, width.saturating_sub(text.len())));
                }
                out.push_str(&text);
            };
            let name = |name: &str| if matches!(flag, Some('^' | '#')) { name.to_uppercase() } else { name.to_string() };
            let day = DAYS[tm.tm_wday.rem_euclid(7) as usize];
            let month = MONTHS[tm.tm_mon.rem_euclid(12) as usize];
            match spec {
                'Y' => number(year, 1, '0'),
                'C' => number(year.div_euclid(100), 2, '0'),
                'y' => number(year.rem_euclid(100), 2, '0'),
                'm' => number(i64::from(tm.tm_mon) + 1, 2, '0'),
                'd' => number(tm.tm_mday.into(), 2, '0'),
                'e' => number(tm.tm_mday.into(), 2, ' '),
                'H' => number(tm.tm_hour.into(), 2, '0'),
                'k' => number(tm.tm_hour.into(), 2, ' '),
                'I' => number(hour12.into(), 2, '0'),
                'l' => number(hour12.into(), 2, ' '),
                'M' => number(tm.tm_min.into(), 2, '0'),
                'S' => number(tm.tm_sec.into(), 2, '0'),
                'j' => number(i64::from(tm.tm_yday) + 1, 3, '0'),
                'f' => number(micros.into(), 6, '0'),
                's' => number(self.seconds, 1, '0'),
                'u' => number(if tm.tm_wday == 0 { 7 } else { tm.tm_wday.into() }, 1, '0'),
                'w' => number(tm.tm_wday.into(), 1, '0'),
                'U' => number((i64::from(tm.tm_yday) + 7 - i64::from(tm.tm_wday)) / 7, 2, '0'),
                'W' => number((i64::from(tm.tm_yday) + 7 - i64::from((tm.tm_wday + 6) % 7)) / 7, 2, '0'),
                'G' => number(self.iso_week().0, 1, '0'),
                'g' => number(self.iso_week().0.rem_euclid(100), 2, '0'),
                'V' => number(self.iso_week().1, 2, '0'),
                'A' => out.push_str(&name(day)),
                'a' => out.push_str(&name(&day[..3])),
                'B' => out.push_str(&name(month)),
                'b' | 'h' => out.push_str(&name(&month[..3])),
                'p' => {
                    let half = if tm.tm_hour < 12 { "AM" } else { "PM" };
                    out.push_str(&if flag == Some('#') { half.to_lowercase() } else { half.to_string() });
                }
                'P' => out.push_str(if tm.tm_hour < 12 { "am" } else { "pm" }),
                'z' => {
                    let minutes = tm.tm_gmtoff / 60;
                    let sign = if minutes < 0 { '-' } else { '+' };
                    let minutes = minutes.abs();
                    out.push_str(&format!("{sign}{:02}{:02}", minutes / 60, minutes % 60));
                }
                'Z' => out.push_str(&self.zone()),
                'n' => out.push('\n'),
                't' => out.push('\t'),
                '%' => out.push('%'),
                composed => {
                    let expansion = match composed {
                        'D' | 'x' => "%m/%d/%y",
                        'F' => "%Y-%m-%d",
                        'T' | 'X' => "%H:%M:%S",
                        'R' => "%H:%M",
                        'r' => "%I:%M:%S %p",
                        'c' => "%a %b %e %H:%M:%S %Y",
                        'v' => "%e-%b-%Y",
                        _ => "",
                    };
                    if expansion.is_empty() || depth > 0 {
                        out.push('%');
                        out.push(composed);
                    } else {
                        self.format(expansion, micros, depth + 1, out);
                    }
                }
            }
        }
    }
}

/// Weeks of an ISO year: 53 where it begins on a Thursday, or on a Wednesday and leaps.
fn weeks_in(year: i64) -> i64 {
    let last_day = |year: i64| (year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)).rem_euclid(7);
    if last_day(year) == 4 || last_day(year - 1) == 3 { 53 } else { 52 }
}
