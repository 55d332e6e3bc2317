import { platformClient } from '@millwright/api/built-in-workflows.ts'
import type { AnyJobInFull } from '@millwright/api/jobs.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useGatewayNames } from '../../app/api/gateways.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { isInvalidSettings, withoutStatusCode } from '../../app/language/link-message.ts'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { CopyButton } from '../../components/actions/copy-button.tsx'
import { MenuButton } from '../../components/actions/menu-button.tsx'
import { ConfirmDialog } from '../../components/dialogs/confirm-dialog.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { Card } from '../../components/page/card.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { ParentLink } from '../../components/page/parent-link.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { type KeyValueItem, KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { Elapsed, Time } from '../../components/values/time.tsx'
import { AddCredentialsButton } from '../credentials/flow/add-credentials-button.tsx'
import type { CredentialStart } from '../credentials/flow/credential-start.ts'
import { editSettings } from '../discovery/scans/edit-settings.ts'
import { InterruptionNote, useTimeLeft } from '../discovery/scans/running-scan.tsx'
import { useScanActions } from '../discovery/scans/scan-actions.ts'
import { WorkflowDiagram } from '../workflows/workflow-diagram.tsx'
import { workflowName, workflowNames, workflowText } from '../workflows/workflow-names.ts'
import { hasUnreachable } from './check-counts.ts'
import { CheckResult } from './check-result.tsx'
import { JobAdvice } from './job-advice.tsx'
import { errorsOf, hasRunErrors, hasSignInErrors } from './job-errors.ts'
import { subjectNameOf } from './job-name.ts'
import { JobPhaseChip } from './job-phase.tsx'
import { isGeneric, partsText, resultOf } from './job-result.ts'
import { JobSubjectLink } from './job-subject.tsx'
import { hasEnded, historyTimesOf, progressOf, runTimesOf, timesOf, waitMsOf, workMsOf } from './job-times.ts'
import { jobMessages } from './messages.ts'
import { useOutcomeText } from './outcome-text.ts'
import { ScanErrors, SignInRemedy } from './scan-errors.tsx'
import { ScanResult, scanReference, starterOf } from './scan-result.tsx'

/** `JobPage` shows the progress, the input, the result and the history of one job. */
export function JobPage() {
  const text = useText(jobMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const job = useQuery(query(['jobs', 'getJob'], { params: { id } }, { live: ['workflows.job'] }))
  const names = useText(workflowNames)
  const title = job.data === undefined ? text.job : titleOf(job.data.data, { text, names })
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        above={<ParentLink to="/jobs">{text.all}</ParentLink>}
        actions={job.data !== undefined && <Actions job={job.data.data} />}
      />
      <QueryState query={job}>{({ data }) => <JobCards job={data} />}</QueryState>
    </>
  )
}

type TitleContext = { text: (typeof jobMessages)['en']; names: (typeof workflowNames)['en'] }

/** Returns what the job does, and for which asset, scan or file. */
function titleOf(job: AnyJobInFull, { text, names }: TitleContext): string {
  const name = workflowName(job.type, names)
  if (job.scan !== undefined && job.subject?.name !== undefined)
    return text.scanTitle(job.subject.name, job.scan.scope.join(', ') || text.allDevices)
  const about = subjectNameOf(job, text)
  return about === undefined ? text.what(text.job, name) : text.what(name, about)
}

function Actions({ job }: { job: AnyJobInFull }) {
  const { id, phase, runId } = job
  const text = useText(jobMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const canManage = usePermission('glb_workflow_manage')
  const canScan = usePermission('glb_discovery_run')
  const { runAgain, cancel, failure } = useScanActions()
  const [isRemoving, setRemoving] = useState(false)
  const scanId = scanReference(job)
  const hasNew = runId !== undefined && (job.scan?.created ?? 0) > 0
  const errors = errorsOf(job)
  const canChange = usePermission('glb_credential_write')
  const needsCredentials = canChange && hasSignInErrors(job)
  // The page of the scan lists all errors of the run, with their remedies.
  const toScan = scanId !== undefined && (
    <Link
      to={`/discovery/scans/${scanId}`}
      search={(errors?.search ?? (runId === undefined ? {} : { run: runId })) as never}
      className={errors === undefined || needsCredentials ? 'button-link secondary' : 'button-link'}
    >
      {text.openScan}
    </Link>
  )
  if (!hasEnded(phase)) {
    return (
      <>
        {toScan}
        {canScan && scanId !== undefined && (
          <IxButton variant="secondary" onClick={() => cancel(scanId)}>
            {text.cancelScan}
          </IxButton>
        )}
        {failure !== undefined && <ProblemMessage failure={failure} />}
      </>
    )
  }
  const remove = async () => {
    await api.workflows.deleteJob({ params: { id } })
    showSuccess(text.removed)
    await navigate({ to: '/jobs' })
    await queryClient.invalidateQueries({ queryKey: keyOf('jobs', 'listJobs') })
  }
  return (
    <>
      {needsCredentials && <SignInRemedy job={job} />}
      {toScan}
      {canScan &&
        scanId !== undefined &&
        (phase === 'failed' && isInvalidSettings(job.message) ? (
          <Link to={`/discovery/scans/${scanId}`} search={{ edit: editSettings } as never} className="button-link">
            {text.editScan}
          </Link>
        ) : (
          // The remedies of errors come first: without them, another run has the same errors.
          <IxButton variant={errors === undefined ? 'primary' : 'secondary'} onClick={() => runAgain(scanId)}>
            {text.runAgain}
          </IxButton>
        ))}
      {hasNew && (
        <Link to="/inbox" search={{ scan: runId } as never} className="button-link secondary">
          {text.toInbox}
        </Link>
      )}
      {errors !== undefined && job.scan === undefined && (
        <Link to={errors.to} search={(errors.search ?? {}) as never} className="button-link">
          {errors.kind === 'unchecked' ? text.toMonitoring : text.showErrors}
        </Link>
      )}
      {canManage && (
        <MenuButton
          label={text.more}
          entries={[{ kind: 'item', label: text.remove, onSelect: () => setRemoving(true) }]}
          isAtEnd
        />
      )}
      {isRemoving && (
        <ConfirmDialog
          title={text.removeTitle}
          action={text.remove}
          isDangerous
          onConfirm={remove}
          onClose={() => setRemoving(false)}
        >
          <p>{text.removeDetail}</p>
        </ConfirmDialog>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </>
  )
}

function JobCards({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  const details = useJobDetails(job)
  return (
    <>
      <JobAdvice job={job} />
      <div className="cards cards-two">
        <section className="card run-facts" data-size="wide" aria-label={text.status}>
          <JobFacts job={job} />
        </section>
        {hasRunErrors(job) && <ScanErrors job={job} />}
        {details.length > 0 && (
          <Card title={text.details}>
            <KeyValueList items={details} />
          </Card>
        )}
        <Card title={text.history} {...(details.length === 0 && { size: 'wide' })}>
          <JobHistory job={job} />
        </Card>
      </div>
      <details className="job-technical">
        <summary>{text.technical}</summary>
        <div className="cards cards-two">
          <Card title={text.workflow} size="wide">
            <WorkflowDiagram name={job.type} label={text.drawing(job.type)} />
            <p>
              <Link to="/workflows" search={{ name: job.type }}>
                {text.toWorkflow}
              </Link>
            </p>
          </Card>
          <Card title={text.input}>
            <JsonView value={job.definition} />
          </Card>
          {job.context !== undefined && (
            <Card title={text.result}>
              <JsonView value={job.context} />
            </Card>
          )}
          <Card title={text.job}>
            <JobIdentity job={job} />
          </Card>
        </div>
      </details>
    </>
  )
}

/** `JobHistory` lists the states of a job in words, one in each line, newest first. */
function JobHistory({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  const language = useLanguage()
  const formats = useFormats()
  const query = useOperationQuery()
  const errors = errorsOf(job)
  const { data } = useQuery(query(['workflows', 'getWorkflow'], { params: { name: job.type } }))
  const wordsOf = (state: string) => {
    const description = data?.states.find(({ name }) => name === state)?.description
    return workflowText({ workflow: job.type, state, description }, language) ?? state
  }
  // The run of a scan ends when the inventory contains the devices, which is after the end of the work of the gateway.
  const written = job.phase === 'finished' ? job.scan?.endedTimestamp : undefined
  const entries = job.history.toReversed()
  const timestamps = [...(written === undefined ? [] : [written]), ...entries.map(({ timestamp }) => timestamp)]
  const { times, isDated } = historyTimesOf(timestamps, formats)
  const offset = timestamps.length - entries.length
  return (
    <ol className="job-history" data-dated={isDated}>
      {written !== undefined && (
        <li data-now>
          <time dateTime={written} title={formats.exact(written)}>
            {times[0]}
          </time>
          <span>
            {errors === undefined
              ? wordsOf(job.state)
              : text.finishedWithErrors(errors.count, formats.number(errors.count))}
            <span className="quiet"> – {text.written}</span>
          </span>
        </li>
      )}
      {entries.map(({ timestamp, state, message, progress }, index) => {
        const isAfterSame = entries[index + 1]?.state === state
        const isBeforeSame = entries[index - 1]?.state === state
        const shown = message === undefined || isGeneric(message) ? undefined : withoutStatusCode(message)
        const isAccepted = isBeforeSame && !isAfterSame && shown === undefined && job.gatewayId !== platformClient
        // A state that continues is named by its message, so that the list does not repeat the name of the state.
        const isReported = written !== undefined && index === 0
        const title =
          isAfterSame && shown !== undefined
            ? shown
            : isReported
              ? text.reported
              : isAccepted
                ? text.accepted
                : wordsOf(state)
        return (
          <li key={`${timestamp} ${state} ${progress ?? ''}`} data-now={index === 0 && written === undefined}>
            <time dateTime={timestamp} title={formats.exact(timestamp)}>
              {times[index + offset]}
            </time>
            <span title={state}>
              {title}
              {shown !== undefined && shown !== title && <span className="quiet"> – {shown}</span>}
            </span>
          </li>
        )
      })}
    </ol>
  )
}

/** Returns the data of the protected device that a job could not read. */
function startOf({ gatewayId, definition: { addresses, assetLinkId } }: AnyJobInFull): CredentialStart {
  const [address]: unknown[] = Array.isArray(addresses) ? addresses : []
  return {
    gatewayId,
    ...(typeof assetLinkId === 'string' && { assetLinkId }),
    ...(typeof address === 'string' && { address }),
  }
}

/** `JobFacts` shows in one row when, where and for whom a job ran, and its result. */
function JobFacts({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  const formats = useFormats()
  const gateways = useGatewayNames()
  const outcome = useOutcomeText()
  const { started, created } = timesOf(job)
  const workMs = workMsOf(job)
  const left = useTimeLeft(runTimesOf(job))
  return (
    <>
      {job.phase === 'running' && <Progress value={progressOf(job) || undefined} label={text.progress} />}
      <KeyValueList
        items={[
          { name: text.phase, value: <JobPhaseChip phase={job.phase} errors={errorsOf(job)} /> },
          {
            name: text.gateway,
            value: gateways.has(job.gatewayId) ? (
              <Link to={`/discovery/gateways/${job.gatewayId}`}>{gateways.get(job.gatewayId)}</Link>
            ) : job.gatewayId === platformClient ? (
              text.platform
            ) : (
              job.gatewayId
            ),
          },
          started === undefined
            ? { name: text.created, value: <Time at={created} /> }
            : { name: text.startedAt, value: <Time at={started} /> },
          workMs !== undefined && { name: text.duration, value: formats.duration(workMs) },
          job.phase === 'running' &&
            started !== undefined && {
              name: text.duration,
              value: (
                <>
                  <Elapsed since={started} /> {text.soFar}
                  {left !== undefined && `, ${left}`}
                </>
              ),
            },
          {
            name: text.startedBy,
            value:
              job.trigger === 'schedule' && job.startedBy !== undefined
                ? text.scheduleOf(job.startedBy)
                : starterOf(job, text),
          },
          {
            name: text.outcome,
            value:
              job.phase === 'finished' && scanReference(job) !== undefined ? (
                <ScanResult job={job} />
              ) : hasUnreachable(job) ? (
                <CheckResult job={job} />
              ) : // The notice above the facts shows why a job failed.
              job.phase === 'failed' ? undefined : job.phase === 'running' && job.scan !== undefined ? (
                text.foundSoFar(formats.number(job.scan.found))
              ) : (
                resultOf(job, outcome)
              ),
          },
        ]}
      />
      <InterruptionNote run={job.scan} />
    </>
  )
}

/** Returns what neither the title, the facts nor the history of a job show. */
function useJobDetails(job: AnyJobInFull): KeyValueItem[] {
  const text = useText(jobMessages)
  const formats = useFormats()
  const { sessionId, campaignId } = job.definition
  const waitMs = waitMsOf(job)
  const items: (KeyValueItem | false)[] = [
    job.parts !== undefined && {
      name: text.deviceJobs,
      value: (
        <Link to="/jobs" search={{ tag: `campaign/${campaignId}` } as never}>
          {partsText(job.parts, text, formats.number)}
        </Link>
      ),
    },
    job.context?.protected === true && {
      name: text.remedy,
      value: <AddCredentialsButton start={startOf(job)} />,
    },
    // The title names the scan, and an action opens it.
    job.subject !== undefined &&
      scanReference(job) === undefined && { name: text.subject, value: <JobSubjectLink job={job} /> },
    typeof sessionId === 'string' && {
      name: text.session,
      value: <Link to={`/remote/sessions/${sessionId}`}>{text.toSession}</Link>,
    },
    typeof campaignId === 'string' &&
      job.subject?.reference !== `update-campaign/${campaignId}` && {
        name: text.campaign,
        value: <Link to={`/updates/campaigns/${campaignId}`}>{text.toCampaign}</Link>,
      },
    waitMs !== undefined && { name: text.waited, value: formats.duration(waitMs) },
    !hasEnded(job.phase) && { name: text.changed, value: <Time at={job.lastModifiedTimestamp} isRelative /> },
  ]
  return items.filter((item) => item !== false)
}

function JobIdentity({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  return (
    <KeyValueList
      items={[
        { name: text.state, value: <code>{job.state}</code> },
        { name: text.message, value: job.message && <code>{job.message}</code> },
        job.tags.length > 0 && {
          name: text.tags,
          value: (
            <span className="chips">
              {job.tags.map((tag) => (
                <StatusChip key={tag}>{tag}</StatusChip>
              ))}
            </span>
          ),
        },
        {
          name: 'ID',
          value: (
            <span className="with-copy">
              <code>{job.id}</code>
              <CopyButton value={job.id} label="ID" />
            </span>
          ),
        },
      ]}
    />
  )
}
