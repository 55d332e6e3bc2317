import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { credentialMessages } from '../messages.ts'
import { kindOf } from './credential-kind.ts'
import { isOpen, type LockedDevices, type LoginsOf } from './refusals.ts'

/** `CredentialRow` is a row of the list. It contains the refusals of the credentials if they are loaded. */
export type CredentialRow = ListedCredentialInstance & Pick<LoginsOf, 'refusals'>

/** The maximum number of credentials whose refusals are loaded to count the devices. */
const loadedRows = 10

/** Returns the rows with the refusals of the first credentials that devices refuse without accepting others. */
export function useRowsWithRefusals(rows: readonly ListedCredentialInstance[]): {
  rows: CredentialRow[]
  isLoading: boolean
} {
  const query = useOperationQuery()
  const refused = rows.filter(isOpen).slice(0, loadedRows)
  const usages = useQueries({
    queries: refused.map(({ id }) =>
      query(['credentials', 'readInstanceUsage'], { params: { instanceId: id } }, { live: ['credentials'] }),
    ),
    combine: (results) => ({
      refusals: results.map(({ data }) => data?.data.refusals),
      isLoading: results.some(({ isPending }) => isPending),
    }),
  })
  const refusalsById = new Map(refused.map(({ id }, index) => [id, usages.refusals[index]]))
  return { rows: rows.map((row) => ({ ...row, refusals: refusalsById.get(row.id) })), isLoading: usages.isLoading }
}

type LockedDevicesNoteProps = { locked: LockedDevices<CredentialRow> }

/** `LockedDevicesNote` shows the number of devices without working credentials, and which credentials to correct. */
export function LockedDevicesNote({ locked: { count, isAtLeast, toCorrect } }: LockedDevicesNoteProps) {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const canWrite = usePermission('glb_credential_write')
  const correction =
    toCorrect === undefined
      ? ''
      : (kindOf(toCorrect.values) === 'user' ? text.changePasswordOf : text.changeValuesOf)(toCorrect.name)
  return (
    <div className="section-note">
      <StatusText tone="bad">
        <strong>{text.withoutWorking(count, (isAtLeast ? text.atLeast : String)(formats.number(count)))}</strong>
        {toCorrect !== undefined && (
          <>
            {': '}
            <Link to={`/credentials/${toCorrect.id}`}>{text.showAllDevices(count)}</Link>
            {' · '}
            {canWrite ? (
              <Link to={`/credentials/${toCorrect.id}`} search={{ edit: 'yes' } as never}>
                {correction}
              </Link>
            ) : (
              correction
            )}
          </>
        )}
      </StatusText>
    </div>
  )
}
