import type { Discovery } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { JsonView } from '../../../components/values/json-view.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { AddCredentialsDialog } from '../../credentials/flow/add-credentials-button.tsx'
import { addressOfDevice, type CredentialStart } from '../../credentials/flow/credential-start.ts'
import { discoveryMessages } from '../messages.ts'
import { causeOf, causesOf, unauthenticated } from './error-cause.ts'
import { errorMessages } from './error-messages.ts'

/** `IndexedError` is an error with its index in the report. The index identifies the row, because errors have no id. */
type IndexedError = DeviceError & { place: number }

type DeviceErrorsProps = {
  scan: Discovery
  errors: readonly DeviceError[]
  /** The number of all errors, of which some can be loaded later. */
  total: number
  onEnd: () => void
}

/**
 * `DeviceErrors` shows the causes of the errors of a scan with their remedies, and lists the errors, one row per error. For a device that requires credentials, the row offers to add
 * them.
 */
export function DeviceErrors({ scan, errors, total, onEnd }: DeviceErrorsProps) {
  const text = useText(discoveryMessages)
  const causes = useText(errorMessages)
  const formats = useFormats()
  const canAdd = usePermission('glb_credential_write')
  const [open, setOpen] = useState<IndexedError>()
  const [adding, setAdding] = useState<DeviceError>()
  return (
    <>
      {errors.length > 0 && (
        <ul className="error-causes">
          {causesOf(errors, causes).map(({ name, advice, count }) => (
            <li key={name}>
              <strong>{errors.length < total ? name : `${name}: ${formats.number(count)}`}</strong> {advice}
            </li>
          ))}
        </ul>
      )}
      <DataTable
        label={text.errors}
        columns={columnsOf({ ...text, causes }, errors, canAdd ? setAdding : undefined)}
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
              { name: text.problem, value: withoutStatusCode(open.description) },
              { name: text.code, value: causeOf(open, causes).name },
              { name: text.remedy, value: causeOf(open, causes).advice },
              open.fields !== undefined && {
                name: text.fields,
                value: open.fields.map(({ pointer, detail }) => (
                  <div key={pointer}>
                    <code>{pointer}</code> {detail}
                  </div>
                )),
              },
              { name: causes.technicalCode, value: <code>{causeOf(open, causes).code}</code> },
              open.device !== undefined && { name: text.device, value: <JsonView value={open.device} /> },
            ]}
          />
          {open.code === unauthenticated && canAdd && (
            <div className="form-actions">
              <IxButton
                onClick={() => {
                  setOpen(undefined)
                  setAdding(open)
                }}
              >
                {text.addCredentials}
              </IxButton>
            </div>
          )}
        </Dialog>
      )}
      {adding !== undefined && (
        <AddCredentialsDialog start={startOf(scan, adding)} onClose={() => setAdding(undefined)} />
      )}
    </>
  )
}

type Text = (typeof discoveryMessages)['en'] & { causes: (typeof errorMessages)['en'] }

/**
 * Returns the columns. The column for rejected fields is left out if no error contains a rejected field, so that the
 * table fits the page.
 */
function columnsOf(
  text: Text,
  errors: readonly DeviceError[],
  onAdd: ((error: DeviceError) => void) | undefined,
): Column<IndexedError>[] {
  const fields: Column<IndexedError> = {
    id: 'fields',
    header: text.fields,
    width: 420,
    cell: ({ fields: refused }) => fieldErrorText(refused),
  }
  const remedy = (add: (error: DeviceError) => void): Column<IndexedError> => ({
    id: 'remedy',
    header: text.remedy,
    width: 190,
    cell: (error) =>
      error.code === unauthenticated && (
        <IxButton variant="tertiary" onClick={() => add(error)}>
          {text.addCredentials}
        </IxButton>
      ),
  })
  const isProtected = errors.some(({ code }) => code === unauthenticated)
  return [
    { id: 'device', header: text.device, width: 150, cell: ({ device }) => deviceName(device) },
    {
      id: 'problem',
      header: text.problem,
      width: 520,
      cell: ({ description }) => <span title={description}>{withoutStatusCode(description)}</span>,
    },
    { id: 'code', header: text.code, width: 190, cell: (error) => causeOf(error, text.causes).name },
    ...(isProtected && onAdd !== undefined ? [remedy(onAdd)] : []),
    ...(errors.some((error) => error.fields !== undefined) ? [fields] : []),
  ]
}

function startOf({ gatewayId, assetLinkId, jobId }: Discovery, { device }: DeviceError): CredentialStart {
  return { gatewayId, assetLinkId, scanId: jobId, address: addressOfDevice(device) }
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
