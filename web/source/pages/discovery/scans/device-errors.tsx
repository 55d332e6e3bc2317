import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { JsonView } from '../../../components/values/json-view.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { discoveryMessages } from '../messages.ts'

/** `IndexedError` is an error with its index in the report. The index identifies the row, because errors have no id. */
type IndexedError = DeviceError & { place: number }

type DeviceErrorsProps = { errors: readonly DeviceError[]; onEnd: () => void }

/** `DeviceErrors` lists the errors of a scan, one row per error. */
export function DeviceErrors({ errors, onEnd }: DeviceErrorsProps) {
  const text = useText(discoveryMessages)
  const [open, setOpen] = useState<IndexedError>()
  return (
    <>
      <DataTable
        label={text.errors}
        columns={columnsOf(text, errors)}
        rows={errors.map((error, place) => ({ ...error, place }))}
        idOf={({ place }) => String(place)}
        onOpen={setOpen}
        onEnd={onEnd}
        empty={<p className="quiet">{text.noErrors}</p>}
      />
      {open !== undefined && (
        <Dialog title={deviceName(open.device) || text.problem} onClose={() => setOpen(undefined)} isWide>
          <KeyValueList
            items={[
              { name: text.problem, value: open.description },
              { name: text.code, value: causeOf(text, open) },
              open.fields !== undefined && {
                name: text.fields,
                value: open.fields.map(({ pointer, detail }) => (
                  <div key={pointer}>
                    <code>{pointer}</code> {detail}
                  </div>
                )),
              },
              open.device !== undefined && { name: text.device, value: <JsonView value={open.device} /> },
            ]}
          />
        </Dialog>
      )}
    </>
  )
}

type Text = (typeof discoveryMessages)['en']

/**
 * Returns the columns. The column for rejected fields is left out if no error contains a rejected field, so that the
 * table fits the page.
 */
function columnsOf(text: Text, errors: readonly DeviceError[]): Column<IndexedError>[] {
  const fields: Column<IndexedError> = {
    id: 'fields',
    header: text.fields,
    width: 420,
    cell: ({ fields: refused }) => fieldErrorText(refused),
  }
  return [
    { id: 'device', header: text.device, width: 150, cell: ({ device }) => deviceName(device) },
    {
      id: 'problem',
      header: text.problem,
      width: 640,
      cell: ({ description }) => <span title={description}>{description}</span>,
    },
    { id: 'code', header: text.code, width: 190, cell: (error) => causeOf(text, error) },
    ...(errors.some((error) => error.fields !== undefined) ? [fields] : []),
  ]
}

/** Returns the cause of an error in words. Codes of gRPC that devices do not cause are shown as numbers. */
function causeOf(text: Text, { reason, code }: DeviceError): string {
  const names: Readonly<Record<number, string>> = {
    3: text.invalidArgument,
    4: text.timeout,
    5: text.notFound,
    7: text.denied,
    8: text.exhausted,
    12: text.unimplemented,
    13: text.internal,
    14: text.unavailable,
    16: text.unauthenticated,
  }
  return reason ?? names[code] ?? String(code)
}

/** Returns the rejected fields and their reasons as one text. */
function fieldErrorText(fields: DeviceError['fields']): string {
  return (fields ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`).join('; ')
}

/** Returns the readable values of a device address. The format of the address depends on the asset link. */
function deviceName(device: DeviceError['device']): string {
  const values = Object.values(device ?? {})
  const words = values.filter((value) => typeof value === 'string')
  return (words.length > 0 ? words : values.filter((value) => typeof value === 'number')).join(', ')
}
