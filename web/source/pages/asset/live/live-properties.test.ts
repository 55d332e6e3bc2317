import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measuredValues, nameAndUnit, withSamples } from './live-properties.ts'

test('properties have readable names and units', () => {
  const cases = [
    ['diagnostics/temperature_celsius', 'Temperature', '°C', 'Temperatur'],
    ['diagnostics/operating_hours', 'Operating hours', 'h', 'Betriebsstunden'],
    ['diagnostics/is_running', 'Running', '', 'In Betrieb'],
    ['update.activations', 'Activations', '', 'Aktivierungen'],
    ['cpuLoadPercent', 'Cpu load', '%', 'CPU-Auslastung'],
    ['hours', 'Hours', '', 'Hours'],
  ] as const
  for (const [path, name, unit, german] of cases) {
    assert.deepEqual(nameAndUnit(path, 'en'), { name, unit }, path)
    assert.equal(nameAndUnit(path, 'de').name, german, path)
  }
})

test('measured values are numbers and truth values, also within a structure', () => {
  const values = measuredValues(
    [
      { key: 'name', value: 'PLC01' },
      { key: 'diagnostics', value: { temperature_celsius: 41.5, is_running: true, state: 'run' } },
      { key: 'update.activations', value: 3 },
      { key: 'connection_points', value: [{ ipv4_address: '10.0.0.7' }] },
      { key: 'missing' },
    ],
    'en',
  )
  assert.deepEqual(
    values.map(({ path, value }) => [path, value]),
    [
      ['diagnostics/temperature_celsius', 41.5],
      ['diagnostics/is_running', true],
      ['update.activations', 3],
    ],
  )
})

test('the trend contains one sample per read, and no more than the limit', () => {
  const value = (number: number) => [{ path: 'a', name: 'A', unit: '', value: number }]
  let samples = withSamples(new Map(), value(1), { at: 10, limit: 2 })
  samples = withSamples(samples, value(1), { at: 10, limit: 2 })
  samples = withSamples(samples, value(2), { at: 20, limit: 2 })
  samples = withSamples(samples, value(3), { at: 30, limit: 2 })
  assert.deepEqual(samples.get('a'), [
    { at: 20, value: 2 },
    { at: 30, value: 3 },
  ])
})
