import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { AnyJob } from '@millwright/api/jobs.ts'
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../app/language/link-message.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { type Column, DataTable } from '../../components/tables/data-table.tsx'
import { Time } from '../../components/values/time.tsx'
import { AddCredentialsButton } from '../credentials/flow/add-credentials-button.tsx'
import { addressOfDevice } from '../credentials/flow/credential-start.ts'
import { discoveryMessages } from '../discovery/messages.ts'
import {
  AlsoMissingNote,
  assetOfError,
  type DevicesOfErrors,
  ErrorDevice,
  useDevicesOfErrors,
} from '../discovery/scans/error-device.tsx'
import { type MissingDevices, useMissing } from '../discovery/scans/error-devices.ts'
import { type ErrorGroup, limitedGroups } from '../discovery/scans/error-groups.ts'
import { credentialStartOf, rejectedInRun } from '../discovery/scans/sign-in-errors.ts'
import { jobMessages } from './messages.ts'
import { type RunErrors, useRunErrors } from './run-errors.ts'

/** The number of errors on the page. The page of the scan shows all. */
const shownErrors = 10

/** `ScanErrors` lists the devices with errors in the run of a scan, each with the error and what the user can do. */
export function ScanErrors({ job }: { job: AnyJob }) {
  const text = useText(discoveryMessages)
  const id = useId()
  const { data, failure, retry } = useRunErrors(job)
  return (
    <section className="job-errors" data-size="wide" aria-labelledby={id}>
      <h2 id={id} className="section-title">
        {text.errors}
      </h2>
      {data !== undefined ? (
        <ErrorTables errors={data} />
      ) : failure !== undefined ? (
        <ProblemMessage failure={failure} onRetry={retry} />
      ) : (
        <Loading />
      )}
    </section>
  )
}

function ErrorTables({ errors }: { errors: RunErrors }) {
  const text = useText(discoveryMessages)
  const { number } = useFormats()
  const canChange = usePermission('glb_credential_write')
  const { scan, run } = errors
  const groups = limitedGroups(errors.groups, shownErrors)
  const shown = groups.flatMap((group) => group.errors)
  const devices = useDevicesOfErrors(shown)
  const missing = useMissing(scan, run)
  const isComplete = shown.length >= run.errors
  return (
    <>
      <AlsoMissingNote scan={scan} run={run} withError={missing.withError} />
      {groups.map((group) => (
        <section key={group.name} className="error-group" aria-label={group.name}>
          <p className="error-advice">
            <strong>
              {isComplete ? text.errorGroup(group.name, group.errors.length, number(group.errors.length)) : group.name}
            </strong>
            {' · '}
            {group.action}
          </p>
          <DataTable
            label={`${text.errors}: ${group.name}`}
            columns={columnsOf(text, group, { errors, devices, canChange, lastFound: missing.lastFound })}
            rows={group.errors}
            idOf={({ place }) => String(place)}
          />
        </section>
      ))}
      {!isComplete && (
        <p className="more-errors">
          <Link to={`/discovery/scans/${scan.jobId}`} search={{ view: 'errors', run: run.id } as never}>
            {text.allErrors(number(run.errors))}
          </Link>
        </p>
      )}
    </>
  )
}

type ColumnContext = {
  errors: RunErrors
  devices: DevicesOfErrors
  canChange: boolean
  lastFound: MissingDevices['lastFound']
}

function columnsOf(
  text: (typeof discoveryMessages)['en'],
  { hasProblems, errors: rows }: ErrorGroup,
  { errors, devices, canChange, lastFound }: ColumnContext,
): Column<ErrorGroup['errors'][number]>[] {
  const hasRemedies = canChange && rows.some((error) => rejectedInRun(error, errors).length > 0)
  return [
    {
      id: 'device',
      header: text.device,
      width: 300,
      minWidth: 180,
      cell: (error) => <ErrorDevice error={error} devices={devices} />,
    },
    {
      id: 'address',
      header: text.ipAddress,
      width: 140,
      cell: ({ device }) => addressOfDevice(device) ?? <span className="quiet">–</span>,
    },
    {
      id: 'lastFound',
      header: text.lastFound,
      width: 190,
      isGrowing: !hasProblems && !hasRemedies,
      cell: (error) => {
        const at = lastFound.get(assetOfError(error, devices)?.id ?? '')
        return at === undefined ? <span className="quiet">–</span> : <Time at={at} isCompact />
      },
    },
    ...(hasProblems
      ? [
          {
            id: 'problem',
            header: text.problem,
            width: 300,
            minWidth: 180,
            isGrowing: true,
            cell: ({ description }: DeviceError) => <span title={description}>{withoutStatusCode(description)}</span>,
          },
        ]
      : []),
    ...(hasRemedies
      ? [
          {
            id: 'action',
            header: text.whatToDo,
            width: 300,
            minWidth: 220,
            isGrowing: true,
            cell: (error: DeviceError) => {
              const [credentials] = rejectedInRun(error, errors)
              if (credentials === undefined) return null
              const { instanceId, name } = credentials
              return (
                <Link to={`/credentials/${instanceId}`} search={{ edit: 'yes' } as never} title={name}>
                  {text.changeCredentials(name)}
                </Link>
              )
            },
          },
        ]
      : []),
  ]
}

/**
 * `SignInRemedy` is the next step after a scan to whose devices no credentials could sign in: it changes the credentials that most of
 * them rejected or, if the run tried none, adds credentials.
 */
export function SignInRemedy({ job }: { job: AnyJob }) {
  const text = useText(jobMessages)
  const { data } = useRunErrors(job)
  if (data === undefined) return null
  const { scan, signIn, mostRejected: credentials } = data
  if (credentials === undefined)
    return <AddCredentialsButton start={credentialStartOf(scan, signIn)} variant="primary" />
  return (
    <Link
      to={`/credentials/${credentials.instanceId}`}
      search={{ edit: 'yes' } as never}
      className="button-link"
      title={credentials.name}
    >
      {text.changeCredentials}
    </Link>
  )
}
