import type { PlannedFunction } from '@millwright/api/sent-function.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { usageError } from '../output/error-report.ts'
import { Table } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { sanitize } from '../output/text.ts'

/** `PlannedRow` is a function that a link would send. */
export type PlannedRow = { link: string } & PlannedFunction

const columns = {
  link: 'link',
  protocol: 'protocol',
  function: 'operation',
  code: 'code',
  transport: 'transport',
}

/**
 * Prints the functions that a scan would send as a table. The ports and the description are long, so they are printed
 * completely below each row.
 */
export async function printFunctions(terminal: Terminal, rows: readonly PlannedRow[]): Promise<void> {
  const [heading = '', ...lines] = new Table(columns, terminal).lines(rows)
  await terminal.print(heading)
  for (const [index, line] of lines.entries()) {
    const { ports = '', description = '' } = rows[index] ?? {}
    const portsText = ports === '' ? '' : `${/^\d+$/.test(ports) ? 'Port' : 'Ports'} ${ports}: `
    await terminal.print(line)
    await terminal.print(sanitize(`    ${portsText}${description}`))
  }
  await terminal.print('')
}

/** Returns the number of addresses that a scan would visit. Refuses ranges that links refuse. */
export function countAddresses(ranges: readonly string[], excluded: readonly string[]): number {
  const filters = (key: string, values: readonly string[]) =>
    values.map((value) => ({ key, operator: 'EQUAL' as const, value }))
  try {
    return scanRangeOf([...filters('ip_range', ranges), ...filters('exclude', excluded)]).size
  } catch (error) {
    throw usageError((error as Error).message)
  }
}

export function addressesText(count: number): string {
  return `${count} address${count === 1 ? '' : 'es'}`
}
