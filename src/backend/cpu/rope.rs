//! Rotary tables: the program's, and those of seats that have their own.

use crate::backend::RopeTable;
use crate::error::{Error, Result};

pub(super) struct Ropes {
    tables: Vec<RopeTable>,
    seats: usize,
    /// `[rope][seat]`.
    own: Vec<Option<RopeTable>>,
}

impl Ropes {
    pub(super) fn new(tables: &[RopeTable], seats: usize) -> Self {
        Ropes { tables: tables.to_vec(), seats, own: vec![None; tables.len() * seats] }
    }

    /// Errors: INVALID_ARGUMENT for an unknown rope or seat, or a table of another length than the program's.
    pub(super) fn set(&mut self, rope: usize, seat: usize, table: Option<&RopeTable>) -> Result<()> {
        let Some(default) = self.tables.get(rope).filter(|_| seat < self.seats) else {
            return Err(Error::invalid(format!(
                "rope {rope} of seat {seat}, expected below {} and {}",
                self.tables.len(),
                self.seats
            )));
        };
        if let Some(table) = table
            && table.inv_freq.len() != default.inv_freq.len()
        {
            let (found, expected) = (table.inv_freq.len(), default.inv_freq.len());
            return Err(Error::invalid(format!("rope {rope} of {found} frequencies, expected {expected}")));
        }
        self.own[rope * self.seats + seat] = table.cloned();
        Ok(())
    }

    /// Writes the cosines and then the sines of `position` for `seat`.
    ///
    /// The angle is rounded to f32, as the models were trained and `transformers` computes it; its cosine and sine are exact to f32.
    pub(super) fn angles(&self, rope: usize, seat: usize, position: u32, out: &mut [f32]) {
        let table = self.own[rope * self.seats + seat].as_ref().unwrap_or(&self.tables[rope]);
        let (cosines, sines) = out.split_at_mut(table.inv_freq.len());
        for ((frequency, cosine), sine) in table.inv_freq.iter().zip(cosines).zip(sines) {
            let (s, c) = f64::from(position as f32 * frequency).sin_cos();
            *cosine = c as f32 * table.factor;
            *sine = s as f32 * table.factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `transformers` 5's `LlamaRotaryEmbedding` at base 10,000 and head width 8 follow from its formula: cos and sin of
    /// the f32 product of position and frequency.
    #[test]
    fn angles_are_those_of_the_position() {
        let table = RopeTable { inv_freq: vec![1.0, 0.1, 0.01, 0.001], factor: 1.0 };
        let ropes = Ropes::new(&[table], 1);
        let mut out = [0.0; 8];
        ropes.angles(0, 0, 100, &mut out);
        let expected =
            [0.862_318_87, -0.839_071_5, 0.540_302_3, 0.995_004_2, -0.506_365_6, -0.544_021_1, 0.841_471, 0.099_833_42];
        for (found, expected) in out.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn a_seat_has_its_own_table_until_it_is_given_back() {
        let table = |f, factor| RopeTable { inv_freq: vec![f], factor };
        let mut ropes = Ropes::new(&[table(1.0, 1.0)], 2);
        ropes.set(0, 1, Some(&table(0.5, 2.0))).unwrap();
        let angles = |ropes: &Ropes, seat| {
            let mut out = [0.0; 2];
            ropes.angles(0, seat, 2, &mut out);
            out
        };
        assert_eq!(angles(&ropes, 1), [1f64.cos() as f32 * 2.0, 1f64.sin() as f32 * 2.0]);
        assert_eq!(angles(&ropes, 0), [2f64.cos() as f32, 2f64.sin() as f32]);
        ropes.set(0, 1, None).unwrap();
        assert_eq!(angles(&ropes, 1), angles(&ropes, 0));
        assert!(ropes.set(0, 2, None).is_err());
        assert!(ropes.set(1, 0, None).is_err());
        assert!(ropes.set(0, 0, Some(&RopeTable { inv_freq: vec![1.0, 1.0], factor: 1.0 })).is_err());
    }
}
