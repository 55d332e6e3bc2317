import type { Language } from '../../../app/language/language.ts'

/** This file turns the properties that an asset link reads into names, values and units for people. */

/** `LiveProperty` is one value of a device. The path names a value within a structure: `diagnostics/temperature_celsius`. */
export type LiveProperty = { path: string; name: string; unit: string; value: unknown }

/** The units at the end of a property name. */
const units: Readonly<Record<string, string>> = {
  celsius: '°C',
  fahrenheit: '°F',
  kelvin: 'K',
  percent: '%',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
  ms: 'ms',
  hz: 'Hz',
  rpm: 'rpm',
  volts: 'V',
  volt: 'V',
  mv: 'mV',
  amperes: 'A',
  ampere: 'A',
  ma: 'mA',
  watts: 'W',
  watt: 'W',
  kw: 'kW',
  kwh: 'kWh',
  bar: 'bar',
  pa: 'Pa',
  mm: 'mm',
  bytes: 'B',
  dbm: 'dBm',
}

/** The names whose last word is a part of the name, although it is a unit too. */
const keepsUnit: readonly string[] = ['operating_hours', 'uptime_hours']

const german: Readonly<Record<string, string>> = {
  temperature: 'Temperatur',
  operating_hours: 'Betriebsstunden',
  uptime: 'Laufzeit',
  running: 'In Betrieb',
  protected: 'Geschützt',
  activations: 'Aktivierungen',
  voltage: 'Spannung',
  current: 'Strom',
  power: 'Leistung',
  speed: 'Drehzahl',
  pressure: 'Druck',
  humidity: 'Luftfeuchte',
  load: 'Auslastung',
  cpu_load: 'CPU-Auslastung',
  memory_used: 'Belegter Speicher',
  errors: 'Fehler',
  name: 'Name',
  description: 'Beschreibung',
}

/** Returns the name and the unit of a property, from the last part of its path. */
export function nameAndUnit(path: string, language: Language): { name: string; unit: string } {
  const last = path.split(/[/.]/).at(-1) ?? path
  const plain = last
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/^(is|has)_/, '')
  const words = plain.split(/[_\s-]+/).filter((word) => word !== '')
  const unit = words.length > 1 ? (units[words.at(-1) ?? ''] ?? '') : ''
  const kept = unit === '' || keepsUnit.includes(plain) ? words : words.slice(0, -1)
  const key = kept.join('_')
  const name = language === 'de' ? german[key] : undefined
  const text = name ?? kept.join(' ')
  return { name: text.charAt(0).toUpperCase() + text.slice(1), unit }
}

type Document = Readonly<Record<string, unknown>>

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the measured values of a device: numbers and truth values, also those within a structure. The fields of an asset,
 * for example its name, are not among them.
 */
export function measuredValues(
  results: readonly { key: string; value?: unknown }[],
  language: Language,
): LiveProperty[] {
  return results.flatMap(({ key, value }) =>
    (isDocument(value)
      ? Object.entries(value).map(([name, part]) => [`${key}/${name}`, part] as const)
      : [[key, value] as const]
    )
      .filter(([, part]) => typeof part === 'number' || typeof part === 'boolean')
      .map(([path, part]) => ({ path, ...nameAndUnit(path, language), value: part })),
  )
}

/** `Sample` is a value at a time, in milliseconds since 1970. */
export type Sample = { at: number; value: number }

/** Returns the samples with new ones at the end, each with its path. The oldest samples are removed at the limit. */
export function withSamples(
  before: ReadonlyMap<string, readonly Sample[]>,
  values: readonly LiveProperty[],
  { at, limit }: { at: number; limit: number },
): ReadonlyMap<string, readonly Sample[]> {
  const next = new Map(before)
  for (const { path, value } of values) {
    const samples = next.get(path) ?? []
    if (typeof value !== 'number' || samples.at(-1)?.at === at) continue
    next.set(path, [...samples, { at, value }].slice(-limit))
  }
  return next
}
