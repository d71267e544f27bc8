//! The parallel plan: which ranks there are, which of them live in this process, and on what device.

use std::collections::BTreeSet;

use super::config::{Config, LaunchMode};
use crate::error::{Error, Result};

/// A validated plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub world_size: i32,
    /// Ascending.
    pub local_ranks: Vec<i32>,
}

impl Plan {
    /// Checks the plan of `config`, then its devices.
    pub fn new(config: &Config) -> Result<Self> {
        let world_size = config.parallel.tensor_parallel_size;
        if world_size < 1 {
            return Err(Error::invalid(format!("tensorParallelSize: {world_size}, expected at least 1")));
        }
        let mut local = BTreeSet::new();
        for &rank in &config.local_ranks {
            if !(0..world_size).contains(&rank) {
                return Err(Error::invalid(format!("localRanks: {rank}, expected a rank in 0..{world_size}")));
            }
            if !local.insert(rank) {
                return Err(Error::invalid(format!("localRanks: {rank} occurs twice")));
            }
        }
        if local.is_empty() {
            local.extend(0..world_size);
        }
        let devices = &config.parallel.devices;
        if !devices.is_empty() && devices.len() < world_size as usize {
            return Err(Error::invalid(format!(
                "devices: {} entries, expected none or at least {world_size} (one per rank)",
                devices.len()
            )));
        }
        if let Some(device) = devices.iter().chain(config.local_rank_devices.values()).find(|&&device| device < 0) {
            return Err(Error::invalid(format!("device {device}, expected a device number of 0 or more")));
        }
        if let Some(rank) = config.local_rank_devices.keys().find(|rank| !local.contains(rank)) {
            return Err(Error::invalid(format!("localRankDevices: {rank} is not a local rank (local ranks: {local:?})")));
        }
        if world_size > 1 {
            return Err(Error::unsupported(format!("tensorParallelSize: {world_size}; this build runs one rank, expected 1")));
        }
        if config.parallel.launch_mode == LaunchMode::Mpi {
            return Err(Error::unsupported("launchMode mpi: this build runs one rank inline, expected thread"));
        }
        Ok(Plan { world_size, local_ranks: local.into_iter().collect() })
    }

    pub fn owns(&self, rank: i32) -> bool {
        self.local_ranks.contains(&rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    fn refused(change: impl FnOnce(&mut Config)) -> (Status, String) {
        let mut config = Config::default();
        change(&mut config);
        let error = Plan::new(&config).unwrap_err();
        (error.status(), error.message().to_string())
    }

    #[test]
    fn one_rank_is_planned_by_default() {
        let plan = Plan::new(&Config::default()).unwrap();
        assert_eq!((plan.world_size, plan.local_ranks.as_slice()), (1, [0].as_slice()));
        assert!(plan.owns(0) && !plan.owns(1) && !plan.owns(-1));
    }

    #[test]
    fn bad_plans_are_refused_by_name_and_value() {
        for (found, named) in [
            (refused(|c| c.parallel.tensor_parallel_size = 0), "tensorParallelSize: 0"),
            (refused(|c| c.local_ranks = vec![1]), "localRanks: 1"),
            (refused(|c| c.local_ranks = vec![0, 0]), "0 occurs twice"),
            (refused(|c| c.parallel.devices = vec![-1]), "device -1"),
            (refused(|c| c.local_rank_devices = [(3, 0)].into()), "localRankDevices: 3"),
        ] {
            assert_eq!(found.0, Status::InvalidArgument);
            assert!(found.1.contains(named), "{}", found.1);
        }
        assert_eq!(refused(|c| c.parallel.tensor_parallel_size = 2).0, Status::Unsupported);
    }
}
