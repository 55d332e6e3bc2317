import { type Static, Type } from 'typebox'
import { closed } from './envelope.ts'
import { oneOf } from './inventory/shapes.ts'

const text = (maximum: number, description: string) => Type.String({ minLength: 1, maxLength: maximum, description })

/** The maximum number of functions that a link can list. */
export const mostSentFunctions = 256

/** `SentFunction` is a function of a protocol that a link sends to devices. None changes values or settings of a device. */
export const SentFunction = closed({
  protocol: text(64, 'The protocol, such as snmp'),
  operation: text(64, 'The name of the function, such as GetBulk'),
  code: Type.Optional(text(64, 'The function code in the protocol, such as 0xA5')),
  transport: oneOf(['udp', 'tcp', 'icmp', 'ethernet'] as const),
  ports: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { maxItems: 256, description: 'The default ports' }),
  ),
  portsOption: Type.Optional(text(256, 'The option of the link with the ports')),
  onlyIf: Type.Optional(
    text(
      256,
      'The option of the link that must be true or a text that is not empty, otherwise the function is not sent',
    ),
  ),
  description: Type.String({ maxLength: 1_000 }),
})
export type SentFunction = Static<typeof SentFunction>

/** `PlannedFunction` is a function that a scan would send. `ports` is a text such as `502, 5020-5022`. */
export type PlannedFunction = Pick<SentFunction, 'protocol' | 'operation' | 'code' | 'transport' | 'description'> & {
  ports: string
}

/** An option of a link, with its default. */
type OptionWithDefault = { key: string; defaultValue?: unknown }

/**
 * Returns the functions that a scan would send. `values` contains the options of the scan. Options that it does not contain
 * have their defaults.
 */
export function plannedFunctions(
  sends: readonly SentFunction[],
  options: readonly OptionWithDefault[],
  values: Readonly<Record<string, unknown>>,
): PlannedFunction[] {
  const optionValue = (key: string) => values[key] ?? options.find((one) => one.key === key)?.defaultValue
  return sends.flatMap(({ ports = [], portsOption, onlyIf, ...sent }) => {
    if (onlyIf !== undefined && !isSet(optionValue(onlyIf))) return []
    const selected = portsOption === undefined ? undefined : optionValue(portsOption)
    // Without ports, nothing is sent.
    return selected === '' ? [] : [{ ...sent, ports: String(selected ?? ports.join(', ')) }]
  })
}

/** Returns whether an option is true, or a text that is not empty. Options of the command line are texts. */
function isSet(value: unknown): boolean {
  const text = String(value ?? '').trim()
  return text !== '' && text !== 'false'
}
