import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { credentialMessages } from '../messages.ts'
import { isOpen, type LockedDevices, lockedDevices } from './refusals.ts'

export type LockedDevicesOfList = LockedDevices<ListedCredentialInstance>

/** The maximum number of credentials whose refusals are loaded to count the devices. */
const loadedRows = 10

/** Returns the devices without working credentials, or undefined if there are none or they are not loaded yet. */
export function useLockedDevices(rows: readonly ListedCredentialInstance[]): LockedDevicesOfList | undefined {
  const query = useOperationQuery()
  const refused = rows.filter(isOpen).slice(0, loadedRows)
  const refusedBy = useQueries({
    queries: refused.map(({ id }) =>
      query(['credentials', 'readInstanceUsage'], { params: { instanceId: id } }, { live: ['credentials'] }),
    ),
    combine: (usages) =>
      usages.map(({ data }) =>
        data?.data.refusals.flatMap(({ gatewayId, address, acceptsOther }) =>
          acceptsOther ? [] : [`${gatewayId} ${address}`],
        ),
      ),
  })
  const loaded = refusedBy.filter((devices) => devices !== undefined)
  return loaded.length < refused.length ? undefined : lockedDevices(rows, loaded)
}

/** `LockedDevicesNote` shows the number of devices without working credentials, and which credentials to correct. */
export function LockedDevicesNote({ locked: { count, isAtLeast, toCorrect } }: { locked: LockedDevicesOfList }) {
  const text = useText(credentialMessages)
  const formats = useFormats()
  return (
    <div className="section-note">
      <StatusText tone="bad">
        <strong>{text.withoutWorking(count, (isAtLeast ? text.atLeast : String)(formats.number(count)))}</strong>
        {toCorrect !== undefined && (
          <>
            {': '}
            <Link to={`/credentials/${toCorrect.id}`}>{text.showAllDevices(count)}</Link>
            {`. ${text.correct(toCorrect.name)}`}
          </>
        )}
      </StatusText>
    </div>
  )
}
