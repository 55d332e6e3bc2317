import type { Discovery } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { JsonView } from '../../../components/values/json-view.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { type Asset, nameOf } from '../../assets/model/asset.ts'
import { AddCredentialsDialog } from '../../credentials/flow/add-credentials-button.tsx'
import { addressOfDevice, type CredentialStart } from '../../credentials/flow/credential-start.ts'
import { discoveryMessages } from '../messages.ts'
import { causeOf, causesOf, noAnswer, unauthenticated } from './error-cause.ts'
import { useAssetsAt, useRejectedCredentials } from './error-devices.ts'
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
 * `DeviceErrors` shows the causes of the errors of a scan with their remedies, and lists the errors, one row per error. A row links to
 * the asset that has the address of the device. For a device that requires credentials, the row offers to change or add them.
 */
export function DeviceErrors({ scan, errors, total, onEnd }: DeviceErrorsProps) {
  const text = useText(discoveryMessages)
  const causes = useText(errorMessages)
  const formats = useFormats()
  const canAdd = usePermission('glb_credential_write')
  const assets = useAssetsAt(errors)
  const rejected = useRejectedCredentials(scan, errors)
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
        columns={columnsOf({ ...text, causes }, errors, { assets, rejected, onAdd: canAdd ? setAdding : undefined })}
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

type ColumnContext = {
  /** The assets by the address of the device. */
  assets: ReadonlyMap<string, Asset>
  /** The ids of the credentials that a device rejected, by address. */
  rejected: ReadonlyMap<string, string>
  onAdd: ((error: DeviceError) => void) | undefined
}

type Text = (typeof discoveryMessages)['en'] & { causes: (typeof errorMessages)['en'] }

/**
 * Returns the columns. The column for rejected fields is left out if no error contains a rejected field, so that the
 * table fits the page.
 */
function columnsOf(
  text: Text,
  errors: readonly DeviceError[],
  { assets, rejected, onAdd }: ColumnContext,
): Column<IndexedError>[] {
  const fields: Column<IndexedError> = {
    id: 'fields',
    header: text.fields,
    width: 420,
    cell: ({ fields: refused }) => fieldErrorText(refused),
  }
  const assetOf = ({ device }: DeviceError) => assets.get(addressOfDevice(device) ?? '')
  const remedyOf = (error: DeviceError) => {
    const asset = assetOf(error)
    if (noAnswer.includes(error.code)) {
      return asset !== undefined && <Link to={`/assets/${asset.id}`}>{text.openAsset}</Link>
    }
    if (error.code !== unauthenticated || onAdd === undefined) return false
    const instanceId = rejected.get(addressOfDevice(error.device) ?? '')
    return instanceId === undefined ? (
      <button type="button" className="link-button" onClick={() => onAdd(error)}>
        {text.addCredentials}
      </button>
    ) : (
      <Link to={`/credentials/${instanceId}`}>{text.changeCredentials}</Link>
    )
  }
  const remedy: Column<IndexedError> = {
    id: 'remedy',
    header: text.remedy,
    width: 190,
    cell: (error) => remedyOf(error) || <span className="quiet">–</span>,
  }
  return [
    {
      id: 'device',
      header: text.device,
      width: 250,
      minWidth: 150,
      cell: (error) => {
        const asset = assetOf(error)
        if (asset === undefined) return deviceName(error.device)
        return (
          <>
            <Link to={`/assets/${asset.id}`}>{nameOf(asset)}</Link>{' '}
            <span className="quiet">{deviceName(error.device)}</span>
          </>
        )
      },
    },
    {
      id: 'problem',
      header: text.problem,
      width: 450,
      minWidth: 300,
      cell: ({ description }) => <span title={description}>{withoutStatusCode(description)}</span>,
    },
    { id: 'code', header: text.code, width: 190, cell: (error) => causeOf(error, text.causes).name },
    ...(errors.some((error) => remedyOf(error) !== false) ? [remedy] : []),
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
