//! What a machine can do, with a device and without.

use tactus::Status;
use tactus::coordinator::{Config, Device, RuntimeCoordinator};

use crate::support::data;

fn config(device: Device) -> Config {
    Config { engine_dir: data("gguf/llama-f32.gguf"), device, max_sequence_length: 64, cpu_threads: 1, ..Config::default() }
}

#[test]
fn device_cuda_works_or_names_what_is_missing() {
    match (RuntimeCoordinator::new(config(Device::Cuda)), crate::device()) {
        (Ok(coordinator), Some(_)) => {
            let described = coordinator.backend_description().to_string();
            println!("{described}");
            assert!(described.starts_with("CUDA device 0, "), "{described}");
        }
        (Err(error), None) => {
            assert_eq!(error.status(), Status::Cuda, "{error}");
            assert!(error.message().contains("libcuda.so.1") || error.message().contains("CUDA device 0"), "{error}");
        }
        (outcome, device) => panic!("{:?} though the device is {}", outcome.err(), device.is_some()),
    }
}

#[test]
fn device_auto_takes_what_there_is() {
    let coordinator = RuntimeCoordinator::new(config(Device::Auto)).unwrap();
    assert_eq!(coordinator.backend_description().starts_with("CUDA"), crate::device().is_some());
}

#[test]
fn a_device_that_is_not_there_is_named() {
    if crate::device().is_some() {
        let mut config = config(Device::Cuda);
        config.parallel.devices = vec![99];
        let error = RuntimeCoordinator::new(config).err().unwrap();
        assert_eq!(error.status(), Status::Cuda);
        assert!(error.message().starts_with("CUDA device 99: "), "{error}");
    }
}
