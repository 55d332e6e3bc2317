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
import { limitedGroups } from '../discovery/scans/error-groups.ts'
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
        <ErrorTable errors={data} />
      ) : failure !== undefined ? (
        <ProblemMessage failure={failure} onRetry={retry} />
      ) : (
        <Loading />
      )}
    </section>
  )
}

/** An error with the name of its cause and what the user can do. */
type ErrorRow = DeviceError & {
  place: number
  cause: string
  /** What the user can do. It is shown once for the devices with the same cause. */
  action: string | undefined
  hasProblem: boolean
}

function ErrorTable({ errors }: { errors: RunErrors }) {
  const text = useText(discoveryMessages)
  const { number } = useFormats()
  const canChange = usePermission('glb_credential_write')
  const { scan, run, groups } = errors
  const rows = limitedGroups(groups, shownErrors).flatMap(({ name: cause, action, hasProblems, errors: group }) =>
    group.map((error, index) => ({
      ...error,
      cause,
      action: index === 0 ? action : undefined,
      hasProblem: hasProblems,
    })),
  )
  const devices = useDevicesOfErrors(rows)
  const missing = useMissing(scan, run)
  return (
    <>
      <AlsoMissingNote scan={scan} run={run} withError={missing.withError} />
      <DataTable
        label={text.errors}
        columns={columnsOf(text, { errors, devices, canChange, lastFound: missing.lastFound })}
        rows={rows}
        idOf={({ place }) => String(place)}
      />
      {run.errors > rows.length && (
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
  { errors, devices, canChange, lastFound }: ColumnContext,
): Column<ErrorRow>[] {
  return [
    {
      id: 'device',
      header: text.device,
      width: 270,
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
      id: 'error',
      header: text.error,
      width: 200,
      minWidth: 130,
      cell: ({ cause, description, hasProblem }) => (
        <span title={withoutStatusCode(description)}>
          {hasProblem ? `${cause}: ${withoutStatusCode(description)}` : cause}
        </span>
      ),
    },
    {
      id: 'lastFound',
      header: text.lastFound,
      width: 170,
      cell: (error) => {
        const at = lastFound.get(assetOfError(error, devices)?.id ?? '')
        return at === undefined ? <span className="quiet">–</span> : <Time at={at} isCompact />
      },
    },
    {
      id: 'action',
      header: text.whatToDo,
      width: 300,
      minWidth: 220,
      isGrowing: true,
      cell: (error) => {
        const [credentials] = canChange ? rejectedInRun(error, errors) : []
        if (credentials === undefined) return <span title={error.action}>{error.action}</span>
        const { instanceId, name } = credentials
        return (
          <Link to={`/credentials/${instanceId}`} search={{ edit: 'yes' } as never} title={name}>
            {text.changeCredentials(name)}
          </Link>
        )
      },
    },
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
