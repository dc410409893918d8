/* Sensors, from a root folder that the test makes. */
#include "common.h"

#include "prof/sensor.h"

static const char root[] = "prof_sensor_root";

static void write_below(const char *folder, const char *name, const char *text) {
    char command[512], full[512];
    snprintf(command, sizeof command, "mkdir -p '%s%s'", root, folder);
    assert_int_equal(system(command), 0);
    snprintf(full, sizeof full, "%s%s/%s", root, folder, name);
    write_file(full, text);
}

static int make_root(void **state) {
    setenv("PCT_SYSFS_ROOT", root, 1);
    return system("rm -rf prof_sensor_root && mkdir prof_sensor_root");
}

static int clean_up(void **state) {
    unsetenv("PCT_SYSFS_ROOT");
    return system("rm -rf prof_sensor_root");
}

static const char rapl[] = "/sys/class/powercap/intel-rapl:0";

static void the_processor_is_read(void **state) {
    pcti_cpu_meter meter = {0};
    pcti_sensors sensors;
    write_below("/sys/class/hwmon/hwmon0", "name", "nvme\n");
    write_below("/sys/class/hwmon/hwmon0", "temp1_input", "90000\n");
    write_below("/sys/class/hwmon/hwmon3", "name", "coretemp\n");
    write_below("/sys/class/hwmon/hwmon3", "temp1_input", "54500\n");
    write_below(rapl, "energy_uj", "1000000\n");
    write_below(rapl, "max_energy_range_uj", "100000000\n");
    write_below("/proc", "stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n");
    write_below("/proc", "meminfo", "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    600 kB\n");
    pcti_sensors_cpu(&meter, 1000000000, &sensors);
    assert_near(sensors.temperature_c.value, 54.5, 1e-9); /* not the disk's */
    assert_true(isnan(sensors.power_w.value) && isnan(sensors.utilisation_percent.value));
    assert_contains(sensors.power_w.reason, "no earlier reading");
    assert_contains(sensors.utilisation_percent.reason, "no earlier reading");
    assert_near(sensors.memory_used_bytes.value, 400 * 1024, 0);

    write_below(rapl, "energy_uj", "91000000\n");
    write_below("/proc", "stat", "cpu  150 0 125 720 105 0 0 0 0 0\n");
    pcti_sensors_cpu(&meter, 3000000000, &sensors);
    assert_near(sensors.power_w.value, 45, 1e-9); /* 90 J in 2 s */
    assert_null(sensors.power_w.reason);
    assert_near(sensors.utilisation_percent.value, 75, 1e-9);

    write_below(rapl, "energy_uj", "1000000\n"); /* the counter starts anew */
    pcti_sensors_cpu(&meter, 4000000000, &sensors);
    assert_near(sensors.power_w.value, 10, 1e-9);
    assert_contains(sensors.utilisation_percent.reason, "no earlier reading"); /* no time has passed there */
}

static void a_gpu_is_found_by_its_address(void **state) {
    const char *device = "/sys/bus/pci/devices/0000:03:00.0";
    pcti_sensors sensors;
    write_below("/sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon7", "temp1_input", "61000\n");
    write_below("/sys/bus/pci/devices/0000:03:00.0/hwmon/hwmon7", "power1_average", "120500000\n");
    write_below(device, "gpu_busy_percent", "0\n");
    pcti_sensors_pci("0000:03:00.0", &sensors);
    assert_near(sensors.temperature_c.value, 61, 1e-9);
    assert_near(sensors.power_w.value, 120.5, 1e-9);
    assert_true(sensors.utilisation_percent.value == 0 &&
                !sensors.utilisation_percent.reason); /* idle is known */
    assert_true(isnan(sensors.memory_used_bytes.value));
    write_below(device, "mem_info_vram_used", "1048576\n");
    pcti_sensors_pci("0000:03:00.0", &sensors);
    assert_near(sensors.memory_used_bytes.value, 1048576, 0);
}

static void a_missing_sensor_is_null_with_a_reason(void **state) {
    pcti_cpu_meter meter = {0};
    pcti_sensors cpu, gpu;
    for (int i = 0; i < 2; i++) pcti_sensors_cpu(&meter, (uint64_t)(i + 1) * 1000000000, &cpu);
    pcti_sensors_pci("0000:09:00.0", &gpu);
    const pcti_sensors *const both[] = {&cpu, &gpu};
    for (int i = 0; i < 2; i++) {
        pcti_text text = {0};
        pcti_sensors_add_json(both[i], NULL, &(pcti_json){.text = &text});
        assert_contains(text.data,
                        "{\"temperature_c\": null, \"power_w\": null, \"utilisation_percent\": null, "
                        "\"memory_used_bytes\": null, \"missing\": {\"temperature_c\": \"");
        assert_contains(text.data, "\"memory_used_bytes\": \"");
        pcti_text_free(&text);
    }
    write_below("/proc", "stat", "nonsense");
    write_below(rapl, "energy_uj", "what");
    pcti_sensors_cpu(&meter, 5000000000, &cpu);
    assert_true(isnan(cpu.power_w.value) && isnan(cpu.utilisation_percent.value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_processor_is_read, make_root),
        cmocka_unit_test_setup(a_gpu_is_found_by_its_address, make_root),
        cmocka_unit_test_setup(a_missing_sensor_is_null_with_a_reason, make_root)};
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
