import { type ActivityEntry, activityLimits } from '@millwright/api/activity.ts'
import { changeLimits, type FieldChange } from '@millwright/api/inventory/changes.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { attachment } from '../../platform/files/attachment.ts'
import { printCsvRow } from '../../platform/files/csv.ts'
import { answer, type Context } from '../../platform/service.ts'
import type { Position } from './cursor.ts'
import { readPage } from './entries.ts'
import type { Filters } from './selection.ts'

type ExportOptions = { filters: Filters; format: 'csv' | 'ndjson' }

/** One below the limit of a source, because a page reads one entry more to find out whether there is another page. */
const pageSize = changeLimits.page - 1

const mediaTypes = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' } as const

/** Returns the response of an export. The first page is read before the response starts, so that errors have their status. */
export async function exportedEntries(context: Context, caller: Caller, { filters, format }: ExportOptions) {
  const first = await readPage(context, caller, filters, { limit: pageSize, isGrouped: false })
  async function* lines(): AsyncGenerator<string> {
    if (format === 'csv') yield header
    let page = first
    for (let exported = 0; ; ) {
      const entries = page.entries.slice(0, activityLimits.exported - exported)
      exported += entries.length
      yield entries.map((entry) => (format === 'csv' ? csvRow(entry) : `${JSON.stringify(entry)}\n`)).join('')
      const position: Position | undefined = page.next
      if (position === undefined || exported >= activityLimits.exported) return
      page = await readPage(context, caller, filters, { limit: pageSize, isGrouped: false, position })
    }
  }
  return answer(200, lines(), {
    'content-type': mediaTypes[format],
    'content-disposition': attachment(`activity.${format}`),
  })
}

/** The headings, after the mark with which spreadsheets recognise UTF-8. */
const header = `\ufeff${printCsvRow([
  ...['Time', 'Account', 'Action', 'Outcome', 'Object', 'Object ID', 'Changes', 'Source', 'Cause', 'Cause ID'],
])}`

function csvRow(entry: ActivityEntry): string {
  const { time, principalName, action, outcome, object, changes, source, cause } = entry
  return printCsvRow([
    time,
    principalName,
    object?.kind === 'asset' && !action.includes('.') ? `asset ${action}` : action,
    outcome,
    object?.name ?? '',
    object?.id ?? '',
    changes.map(changeText).join('; '),
    source?.value ?? source?.type ?? '',
    cause?.name ?? cause?.kind ?? '',
    cause?.id ?? '',
  ])
}

function changeText({ field, before, after }: FieldChange): string {
  if (before === undefined && after === undefined) return field
  return `${field}: ${before ?? '-'} → ${after ?? '-'}`
}
