import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { Fragment, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { JsonView } from '../../../components/values/json-view.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { textAt } from '../../assets/model/asset.ts'
import { manufacturerPath, productPath } from '../../assets/model/asset-property.ts'
import { PlaceName } from '../../assets/table/asset-cells.tsx'
import { type PlaceOf, usePlaces } from '../../assets/table/asset-places.ts'
import { AddCredentialsDialog } from '../../credentials/flow/add-credentials-button.tsx'
import { addressOfDevice } from '../../credentials/flow/credential-start.ts'
import { discoveryMessages } from '../messages.ts'
import { causeOf, unauthenticated } from './error-cause.ts'
import {
  AlsoMissingNote,
  assetOfError,
  type DevicesOfErrors,
  deviceName,
  ErrorDevice,
  useDevicesOfErrors,
} from './error-device.tsx'
import { chunksOf, type MissingDevices, type RejectedCredentials, useRejectedCredentials } from './error-devices.ts'
import { type ErrorGroup, errorGroupsOf, type IndexedError, namedDevice } from './error-groups.ts'
import { errorMessages } from './error-messages.ts'
import { timeInRun } from './run-time.ts'
import { credentialStartOf, mostRejected } from './sign-in-errors.ts'

type DeviceErrorsProps = {
  scan: Discovery
  /** The run that reported the errors. */
  run: DiscoveryRun
  errors: readonly DeviceError[]
  missing: MissingDevices
  /** Loads more errors. */
  onMore: () => void
}

/**
 * `DeviceErrors` groups the errors of a scan by cause. Each group explains the cause and the remedy once, and lists the devices. A row
 * links to the asset of the device, and to the credentials that it rejected. For devices that require credentials, the group offers
 * to add them once for all.
 */
export function DeviceErrors({ scan, run, errors, missing, onMore }: DeviceErrorsProps) {
  const text = useText(discoveryMessages)
  const causes = useText(errorMessages)
  const formats = useFormats()
  const canAdd = usePermission('glb_credential_write')
  const devices = useDevicesOfErrors(errors)
  const rejected = useRejectedCredentials(scan, errors)
  const [open, setOpen] = useState<IndexedError>()
  const [adding, setAdding] = useState<readonly DeviceError[]>()
  const isComplete = errors.length >= run.errors
  const placeOf = usePlaces(chunksOf([...new Set([...devices.assets.values(), ...devices.named.values()])]))
  const context = { ...devices, rejected, placeOf, lastFound: missing.lastFound, run }
  if (errors.length === 0) return <p className="quiet">{text.noErrors}</p>
  return (
    <>
      <AlsoMissingNote scan={scan} run={run} withError={missing.withError} />
      {errorGroupsOf(errors, causes).map((group) => (
        <section key={group.name} className="error-group" aria-label={group.name}>
          <div className="error-cause">
            <p className="error-advice">
              <strong>
                {isComplete
                  ? text.errorGroup(group.name, group.errors.length, formats.number(group.errors.length))
                  : group.name}
              </strong>{' '}
              {group.advice}
            </p>
            {canAdd && group.errors[0]?.code === unauthenticated && (
              <CredentialRemedies
                rejected={mostRejected(group.errors, { rejected, run })}
                onAdd={() => setAdding(group.errors)}
              />
            )}
          </div>
          <DataTable
            label={`${text.errors}: ${group.name}`}
            columns={columnsOf(text, group, context)}
            rows={group.errors}
            idOf={({ place }) => String(place)}
            onOpen={setOpen}
          />
        </section>
      ))}
      {!isComplete && (
        <IxButton variant="secondary" onClick={onMore}>
          {text.moreErrors(formats.number(errors.length), formats.number(run.errors))}
        </IxButton>
      )}
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
                  setAdding([open])
                }}
              >
                {text.addCredentials}
              </IxButton>
            </div>
          )}
        </Dialog>
      )}
      {adding !== undefined && (
        <AddCredentialsDialog start={credentialStartOf(scan, adding)} onClose={() => setAdding(undefined)} />
      )}
    </>
  )
}

/** `CredentialRemedies` offers to change the credentials that devices rejected, or to add others. */
function CredentialRemedies({
  rejected,
  onAdd,
}: {
  rejected: RejectedCredentials[number] | undefined
  onAdd: () => void
}) {
  const text = useText(discoveryMessages)
  return (
    <div className="error-remedies">
      {rejected !== undefined && (
        <Link to={`/credentials/${rejected.instanceId}`} search={{ edit: 'yes' } as never} className="button-link">
          {text.changeCredentials(rejected.name)}
        </Link>
      )}
      <IxButton variant={rejected === undefined ? 'primary' : 'secondary'} onClick={onAdd}>
        {text.addCredentials}
      </IxButton>
    </div>
  )
}

type ColumnContext = DevicesOfErrors & {
  /** The credentials that a device rejected, by address. */
  rejected: ReadonlyMap<string, RejectedCredentials>
  /** The times at which missing devices were last found, by asset. */
  lastFound: MissingDevices['lastFound']
  /** The hierarchy nodes of the assets. */
  placeOf: PlaceOf
  run: DiscoveryRun
}

type Text = (typeof discoveryMessages)['en']

/** Returns the columns of a group. Columns without content are left out, so that the table fits the page. */
function columnsOf(text: Text, { errors, hasProblems }: ErrorGroup, context: ColumnContext): Column<IndexedError>[] {
  const { assets, named, rejected, placeOf, lastFound, run } = context
  const assetOf = ({ description, device: at }: IndexedError) => {
    const asset = assets.get(addressOfDevice(at) ?? '')
    return { asset, part: named.get(namedDevice(description) ?? '') }
  }
  const device: Column<IndexedError> = {
    id: 'device',
    header: text.device,
    width: 345,
    minWidth: 180,
    cell: (error) => <ErrorDevice error={error} devices={context} />,
  }
  const address: Column<IndexedError> = {
    id: 'address',
    header: text.ipAddress,
    width: 140,
    cell: (error) => addressOfDevice(error.device) ?? <span className="quiet">–</span>,
  }
  const ofAsset = (id: string, { header, path }: { header: string; path: string }): Column<IndexedError> => ({
    id,
    header,
    width: 230,
    cell: (error) => {
      const { asset, part } = assetOf(error)
      const value = textAt(part ?? asset, path)
      return value === '' ? <span className="quiet">–</span> : <span title={value}>{value}</span>
    },
  })
  // A module without a node is at the place of the device through which it is reached.
  const placeOfError = (error: IndexedError) => {
    const { asset, part } = assetOf(error)
    return [part, asset].map((each) => (each === undefined ? [] : placeOf(each.id))).find(({ length }) => length > 0)
  }
  const lastFoundOf = (error: IndexedError) => lastFound.get(assetOfError(error, context)?.id ?? '')
  const found: Column<IndexedError> = {
    id: 'lastFound',
    header: text.lastFound,
    width: 225,
    minWidth: 225,
    cell: (error) => {
      const at = lastFoundOf(error)
      return at === undefined ? <span className="quiet">–</span> : <Time at={at} />
    },
  }
  const place: Column<IndexedError> = {
    id: 'place',
    header: text.place,
    width: 230,
    minWidth: 150,
    isGrowing: true,
    cell: (error) => <PlaceName names={placeOfError(error) ?? []} />,
  }
  const problem: Column<IndexedError> = {
    id: 'problem',
    header: text.problem,
    width: 450,
    minWidth: 300,
    isGrowing: true,
    cell: ({ description }) => <span title={description}>{withoutStatusCode(description)}</span>,
  }
  const credentials: Column<IndexedError> = {
    id: 'credentials',
    header: text.rejectedCredentials,
    width: 600,
    minWidth: 300,
    isGrowing: true,
    cell: (error) => <Rejected credentials={rejected.get(addressOfDevice(error.device) ?? '') ?? []} run={run} />,
  }
  const fields: Column<IndexedError> = {
    id: 'fields',
    header: text.fields,
    width: 420,
    cell: ({ fields: refused }) => fieldErrorText(refused),
  }
  const hasRejected = errors.some(({ code }) => code === unauthenticated) && rejected.size > 0
  const hasFields = errors.some(({ fields: refused }) => refused !== undefined)
  return [
    device,
    address,
    ...(hasProblems ? [problem] : []),
    ...(hasRejected ? [credentials] : []),
    ...(hasFields ? [fields] : []),
    // What and where the device is, if the table has nothing else to show.
    ...(hasProblems || hasRejected || hasFields
      ? []
      : [
          ...(errors.some((error) => lastFoundOf(error) !== undefined) ? [found] : []),
          ofAsset('product', { header: text.product, path: productPath }),
          ofAsset('manufacturer', { header: text.manufacturer, path: manufacturerPath }),
          ...(errors.some((error) => placeOfError(error) !== undefined) ? [place] : []),
        ]),
  ]
}

type RejectedProps = { credentials: RejectedCredentials; run: DiscoveryRun }

/** `Rejected` links to the credentials that a device rejected, with the day if it did not reject them in this run. */
function Rejected({ credentials, run }: RejectedProps) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  if (credentials.length === 0) return <span className="quiet">{text.noneTried}</span>
  // The times of all credentials are shown if one of them is not of this run.
  const isMixed = credentials.some(({ lastFailedTimestamp }) => timeInRun(lastFailedTimestamp, run) !== 'during')
  return (
    <span title={credentials.map(({ name }) => name).join(', ')}>
      {credentials.map(({ instanceId, name, lastFailedTimestamp }, index) => {
        const when = timeInRun(lastFailedTimestamp, run)
        const day = formats.dayMonth(lastFailedTimestamp)
        const shown =
          when === 'before'
            ? text.rejectedEarlier(day)
            : when === 'after'
              ? text.rejectedLater(day)
              : isMixed && text.rejectedNow
        return (
          <Fragment key={instanceId}>
            {index > 0 && ' · '}
            <Link to={`/credentials/${instanceId}`}>{name}</Link>
            {shown !== false && (
              <span
                className="quiet"
                title={[formats.exact(lastFailedTimestamp), when === 'before' && text.onlyWorking]
                  .filter(Boolean)
                  .join('\n')}
              >
                {' '}
                {shown}
              </span>
            )}
          </Fragment>
        )
      })}
    </span>
  )
}

/** Returns the rejected fields and their reasons as one text. */
function fieldErrorText(fields: DeviceError['fields']): string {
  return (fields ?? []).map(({ pointer, detail }) => `${pointer}: ${detail}`).join('; ')
}
