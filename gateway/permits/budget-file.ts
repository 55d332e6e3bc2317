import { parseIpRange } from '@millwright/api/ip-range.ts'
import { defaultBudget, ScanBudget } from '@millwright/api/scan-budget.ts'
import Value from 'typebox/value'
import { readIfExists, writeDurably } from '../durable-file.ts'
import { SetupError } from '../setup-error.ts'

/** The name of the file in the home of the gateway. */
export const budgetFileName = 'budget.json'

/**
 * Reads the budget of the gateway. Fields that the file does not contain have their default. Throws a `SetupError` that
 * names the invalid field. Nothing is scanned with an invalid budget.
 */
export async function readBudget(file: string): Promise<ScanBudget> {
  const text = await readIfExists(file)
  return text === undefined ? defaultBudget : parseBudget(text, file)
}

export function parseBudget(text: string, file: string): ScanBudget {
  const fault = (what: string) => new SetupError(`${file} is not a valid budget: ${what}`)
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw fault(`it is not JSON (${(error as Error).message}).`)
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw fault('it is not a JSON object.')
  const budget = withDefaults(given)
  const [error] = Value.Errors(ScanBudget, budget)
  if (error !== undefined) throw fault(`${error.instancePath || '/'} ${error.message}.`)
  const valid = budget as ScanBudget
  const wrong = valid.excludedAddresses.find((range) => parseIpRange(range) === undefined)
  if (wrong !== undefined)
    throw fault(`"${wrong}" in excludedAddresses is not an address, a range such as 10.0.0.1-10.0.0.9, or 10.0.0.0/24.`)
  return valid
}

/** Writes the budget. A running gateway uses it within about one second, also for running scans. */
export async function writeBudget(file: string, budget: ScanBudget): Promise<void> {
  const text = `${JSON.stringify(budget, null, 2)}\n`
  parseBudget(text, file)
  await writeDurably(file, text)
}

function withDefaults(given: Partial<ScanBudget>): unknown {
  return {
    ...defaultBudget,
    ...given,
    perDevice: { ...defaultBudget.perDevice, ...given.perDevice },
    perGateway: { ...defaultBudget.perGateway, ...given.perGateway },
  }
}
