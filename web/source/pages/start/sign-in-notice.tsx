import { iconInfo, iconWarning } from '@siemens/ix-icons/icons'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { deviceName } from '../access/sessions/device-name.ts'
import { sessionMessages } from '../access/sessions/messages.ts'
import { startMessages } from './messages.ts'

/** The number of sessions that the notice checks. The last used sessions are the first in the list. */
const checkedSessions = 20

/**
 * `SignInNotice` shows in one line how many sign-ins used a new device. It stays until the user confirms or ends the sessions on
 * the page to which it links.
 */
export function SignInNotice() {
  const text = useText(startMessages)
  const sessionText = useText(sessionMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const queryClient = useQueryClient()
  const input = { query: { limit: checkedSessions } }
  const sessions = useQuery(query(['identity', 'listSessions'], input, { live: ['identity'] }))
  const unfamiliar = (sessions.data?.data ?? [])
    .filter(({ isUnfamiliar }) => isUnfamiliar)
    .toSorted((one, other) => other.createdTimestamp.localeCompare(one.createdTimestamp))
  const [latest] = unfamiliar
  if (latest === undefined) return null
  const count = unfamiliar.length
  const isOnlyThis = unfamiliar.every(({ isCurrent }) => isCurrent)
  const facts = [deviceName(latest, sessionText), latest.address, formats.compact(latest.createdTimestamp)]
  const shown = facts.filter((fact) => fact !== undefined).join(', ')
  return (
    <section
      className="notice start-sign-in"
      {...(!isOnlyThis && { 'data-tone': 'warning' })}
      aria-label={text.newSignIn}
    >
      <Icon name={isOnlyThis ? iconInfo : iconWarning} />
      <p className="start-sign-in-line">
        <strong>{isOnlyThis ? text.newSignInHere : text.newSignIns(count, formats.number(count))}</strong>{' '}
        <span className="quiet">{count > 1 ? text.latestSignIn(shown) : `${shown}.`}</span>{' '}
        <Link
          to="/account"
          search={{ view: 'sessions' } as never}
          // The list of sessions was loaded before the sign-in, if the user has opened it before.
          onClick={() => queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listSessions') })}
        >
          {text.reviewSignIns}
        </Link>
      </p>
    </section>
  )
}
