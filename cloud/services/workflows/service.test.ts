import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { AnyInput } from '@millwright/api/client.ts'
import { type JobStatus, type WorkflowJob, workflowLimits, workflows } from '@millwright/api/workflows.ts'
import { newId } from '../../platform/database/id.ts'
import { timePlus } from '../../platform/database/statement.ts'
import type { RawAnswer, TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { directUpdate, engineOf, gatewayCaller, machine } from './testing.ts'

type EngineErrors = { errors: { code: string; logref: string; message: string }[] }

/**
 * These tests check the compatibility with clients of the engine. All tests share a hub. Each test has its own workflows
 * and clients.
 */
describe('workflow engine', () => {
  let hub: TestHub
  let admin: TestCaller
  let viewer: TestCaller
  let gateway: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    viewer = await hub.as('viewer')
    gateway = await gatewayCaller(hub)
    await admin.workflows.createWorkflow({ body: directUpdate })
  })

  after(() => hub[Symbol.asyncDispose]())

  /** Sends a request in the same way as a client of the engine. */
  function send(
    caller: TestCaller,
    line: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<RawAnswer> {
    const [method = '', path = ''] = line.split(' ')
    return hub.request({
      method,
      path,
      headers: { authorization: `Bearer ${caller.token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  function createJob(
    clientId = gateway.principalId,
    input: { workflow?: string; tags?: string[]; definition?: object } = {},
  ) {
    const { workflow = directUpdate.name, ...rest } = input
    // Only the platform creates jobs of the workflow `discovery`.
    const creator = workflow === 'discovery' ? engineOf(hub) : admin.workflows
    return creator.createJob({ body: { clientId, workflow, ...rest } as never })
  }

  /** Fills the history of a job up to the limit. */
  async function givenLongPast(id: string): Promise<void> {
    await hub.asOwner(async (owner) => {
      const values = [hub.tenant.tenantId, id, workflowLimits.history]
      await owner.query(
        `insert into workflow_job_history (tenant_id, job_id, number, modified_at, status)
         select $1, $2, n, now(), json_build_object('state', 'INSTALLING', 'message', 'line ' || n)
         from generate_series(1, $3::int - 1) n`,
        values,
      )
      await owner.query('update workflow_jobs set version = $3 where tenant_id = $1 and id = $2', values)
    })
  }

  const put = (caller: TestCaller, id: string, body: JobStatus) =>
    caller.workflows.putJobStatus({ params: { id }, body })

  function code(expected: string) {
    return (problem: unknown) => (problem as { code: string }).code === expected
  }

  for (const base of [
    '/workflows/v1',
    '/gatekeeper/v1',
    '/api/wfx/v1',
    '/wfx-southbound',
    '/wfx-southbound/api/wfx/v1',
  ]) {
    test(`serves the API of the workflow engine to an agent below ${base}`, async () => {
      const agent = await gatewayCaller(hub)
      const created = await send(admin, 'POST /api/wfx/v1/jobs', {
        clientId: agent.principalId,
        workflow: directUpdate.name,
        tags: ['EUROPE'],
        definition: { url: 'https://artefacts.example/1' },
      })
      assert.equal(created.status, 201)
      const polled = await send(
        agent,
        `GET ${base}/jobs?clientId=${agent.principalId}&workflow=${directUpdate.name}&state=INSTALL&limit=1`,
      )
      const { content, pagination } = polled.body as { content: WorkflowJob[]; pagination: object }
      const [job] = content
      assert.deepEqual(pagination, { limit: 1, offset: 0, total: 1 })
      assert.deepEqual(job, created.body)
      assert.equal(job?.definition.url, 'https://artefacts.example/1')
      for (const [state, then] of [
        ['INSTALLING', 'INSTALLING'],
        ['INSTALLED', 'ACTIVATE'],
        ['ACTIVATING', 'ACTIVATING'],
        ['ACTIVATED', 'ACTIVATED'],
      ]) {
        const moved = await send(agent, `PUT ${base}/jobs/${job?.id}/status`, {
          state,
          progress: 50,
          clientId: 'swupdate',
        })
        assert.equal(moved.status, 200)
        const status = moved.body as JobStatus
        assert.equal(status.state, then)
        // If the engine moved the job to a further state, that state has no report.
        assert.equal(status.progress, state === then ? 50 : undefined)
        assert.equal(status.clientId, state === then ? 'swupdate' : undefined)
        assert.match(status.definitionHash ?? '', /^[0-9a-f]{64}$/)
      }
      const whole = await send(agent, `GET ${base}/jobs/${job?.id}?history=true`)
      const { history = [] } = whole.body as WorkflowJob
      assert.deepEqual(
        history.map(({ status }) => status?.state),
        ['ACTIVATING', 'ACTIVATE', 'INSTALLING', 'INSTALL'],
      )
      for (const path of ['health', 'version', 'workflows', `workflows/${directUpdate.name}`])
        assert.equal((await send(agent, `GET ${base}/${path}`)).status, 200, path)
    })
  }

  test('returns errors in the format of the engine, with the status that its clients expect', async () => {
    const { id } = await createJob()
    const cases: [TestCaller, string, unknown, number, string][] = [
      [admin, 'GET /api/wfx/v1/jobs/no-such-job', undefined, 404, 'wfx.jobNotFound'],
      [admin, 'GET /workflows/v1/jobs/no-such-job/status', undefined, 404, 'wfx.jobNotFound'],
      [admin, 'GET /api/wfx/v1/workflows/none', undefined, 404, 'wfx.workflowNotFound'],
      [admin, 'POST /api/wfx/v1/workflows', directUpdate, 400, 'wfx.workflowNotUnique'],
      [admin, 'POST /api/wfx/v1/workflows', machine('a > b', 'b > a'), 400, 'wfx.workflowInvalid'],
      [admin, 'POST /api/wfx/v1/jobs', { clientId: 'a', workflow: 'none' }, 400, 'wfx.workflowNotFound'],
      [admin, 'POST /api/wfx/v1/jobs', { clientId: 'a' }, 400, 'wfx.invalidRequest'],
      [gateway, `PUT /api/wfx/v1/jobs/${id}/status`, { state: 'ACTIVATED' }, 400, 'wfx.invalidRequest'],
      [admin, `PUT /api/wfx/v1/jobs/${id}/status`, { state: 'INSTALLING' }, 400, 'wfx.invalidRequest'],
      [gateway, 'POST /api/wfx/v1/workflows', machine('a > b'), 403, 'wfx.forbidden'],
      [gateway, 'POST /api/wfx/v1/jobs', { clientId: 'a', workflow: 'discovery' }, 403, 'wfx.forbidden'],
      [gateway, `DELETE /api/wfx/v1/jobs/${id}`, undefined, 403, 'wfx.forbidden'],
      [gateway, `POST /api/wfx/v1/jobs/${id}/tags`, ['a'], 403, 'wfx.forbidden'],
      [admin, 'GET /api/wfx/v1/jobs/events?actions=NONE', undefined, 400, 'wfx.invalidRequest'],
    ]
    for (const [caller, line, body, status, expected] of cases) {
      const refused = await send(caller, line, body)
      assert.equal(refused.status, status, line)
      const [error] = (refused.body as EngineErrors).errors
      assert.equal(error?.code, expected, line)
      assert.equal(error?.logref, refused.headers.get('x-request-id'))
      assert.ok((error?.message.length ?? 0) > 10)
    }
    const anonymous = await hub.request({ method: 'GET', path: '/api/wfx/v1/jobs' })
    assert.equal(anonymous.status, 401)
    assert.equal((anonymous.body as EngineErrors).errors[0]?.code, 'wfx.unauthenticated')
  })

  test('reads a workflow by name, refuses to replace it, and deletes it only when it has no jobs', async () => {
    const workflow = { ...machine('NEW ~> DONE'), name: 'shop.kanban' }
    const created = await send(admin, 'POST /api/wfx/v1/workflows', {
      ...workflow,
      transitions: [{ from: 'NEW', to: 'DONE', eligible: 'WFX' }],
    })
    assert.equal(created.status, 201)
    assert.deepEqual(created.body, workflow)
    assert.deepEqual(await admin.workflows.getWorkflow({ params: { name: 'shop.kanban' } }), workflow)
    const { id } = await createJob('gateway-1', { workflow: 'shop.kanban' })
    await assert.rejects(admin.workflows.deleteWorkflow({ params: { name: 'shop.kanban' } }), code('conflict'))
    await admin.workflows.deleteJob({ params: { id } })
    await admin.workflows.deleteWorkflow({ params: { name: 'shop.kanban' } })
    await assert.rejects(admin.workflows.getWorkflow({ params: { name: 'shop.kanban' } }), code('not_found'))
    await assert.rejects(admin.workflows.deleteWorkflow({ params: { name: 'discovery' } }), code('built_in'))
    await assert.rejects(
      admin.workflows.createWorkflow({ body: { ...workflow, name: 'discovery' } }),
      code('already_exists'),
    )
  })

  test('does not delete a workflow while a job of that workflow is created', async () => {
    const name = 'shop.contested'
    await admin.workflows.createWorkflow({ body: { ...machine('a > b'), name } })
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 6 }, () => createJob('gateway-1', { workflow: name })),
      admin.workflows.deleteWorkflow({ params: { name } }),
    ])
    const isThere = await admin.workflows.getWorkflow({ params: { name } }).then(
      () => true,
      () => false,
    )
    const made = outcomes.slice(0, -1).filter(({ status }) => status === 'fulfilled').length
    assert.equal(made > 0, isThere)
  })

  test('lists workflows sorted by name in pages, and returns a picture of each', async () => {
    const { content, pagination } = await viewer.workflows.listWorkflows({ query: { limit: 3 } })
    assert.deepEqual(
      content.map(({ name }) => name),
      ['artefact-retrieval', 'artefact-update', 'device-info'],
    )
    assert.ok((pagination?.total ?? 0) >= 6)
    const last = await viewer.workflows.listWorkflows({ query: { sort: 'desc', limit: 1, pagination: false } })
    assert.deepEqual(Object.keys(last), ['content'])
    assert.equal(last.content[0]?.name, directUpdate.name)
    const drawn = await send(viewer, 'GET /workflows/v1/workflows/discovery/picture')
    assert.equal(drawn.headers.get('content-type')?.split(';')[0], 'image/svg+xml')
    assert.match(drawn.text, /^<svg .*<\/svg>\n$/s)
  })

  test('lists jobs filtered by state, group, client, workflow and tags, oldest or newest first', async () => {
    const clientId = 'lister'
    const jobs = [
      await createJob(clientId, { tags: ['red', 'big'] }),
      await createJob(clientId, { tags: ['red'] }),
      await createJob(clientId, { workflow: 'discovery', tags: ['big', 'odd'] }),
    ]
    const engine = engineOf(hub)
    await engine.moveJob({ params: { id: jobs[1]?.id ?? '' }, body: { data: { state: 'TERMINATED', as: 'CLIENT' } } })
    const jobsOf = async (query: string) => {
      const { body } = await send(viewer, `GET /api/wfx/v1/jobs?${query}`)
      const { content, pagination } = body as { content: WorkflowJob[]; pagination?: { total: number } }
      assert.equal(pagination?.total ?? content.length, content.length)
      return content.map(({ id }) => jobs.findIndex((job) => job.id === id))
    }
    assert.deepEqual(await jobsOf(`clientId=${clientId}`), [0, 1, 2])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&sort=desc`), [2, 1, 0])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&pagination=false`), [0, 1, 2])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&state=TERMINATED`), [1])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&group=FAILED,OPEN`), [0, 1, 2])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&group=FAILED&group=CLOSED`), [1])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&workflow=discovery`), [2])
    assert.deepEqual(await jobsOf(`clientId=${clientId}&tag=red`), [0, 1])
    assert.deepEqual(await jobsOf(`tag=red,big&clientId=${clientId}`), [0])
    assert.deepEqual(await jobsOf(`tag=big&tag=odd`), [2])
    const { content, pagination } = await viewer.workflows.listJobs({ query: { clientId, limit: 1, offset: 1 } })
    assert.deepEqual([content[0]?.id, pagination], [jobs[1]?.id, { limit: 1, offset: 1, total: 3 }])
  })

  test('lets a gateway read and move only its own jobs', async () => {
    const [own, other] = [await gatewayCaller(hub), await gatewayCaller(hub)]
    const [mine, theirs] = [await createJob(own.principalId), await createJob(other.principalId)]
    const listed = await own.workflows.listJobs({})
    assert.deepEqual(
      listed.content.map(({ id }) => id),
      [mine.id],
    )
    const list = await own.workflows.listJobs({ query: { clientId: other.principalId } })
    assert.deepEqual([list.content, list.pagination?.total], [[], 0])
    const params = { id: theirs.id }
    for (const attempt of [
      () => own.workflows.getJob({ params }),
      () => own.workflows.getJobStatus({ params }),
      () => own.workflows.getJobDefinition({ params }),
      () => own.workflows.getJobTags({ params }),
      () => put(own, theirs.id, { state: 'INSTALLING' }),
      () => own.workflows.putJobDefinition({ params, body: {} }),
    ])
      await assert.rejects(attempt(), code('not_found'))
    assert.equal((await put(own, mine.id, { state: 'INSTALLING' })).state, 'INSTALLING')
    assert.deepEqual(await own.workflows.putJobDefinition({ params: { id: mine.id }, body: { a: 1 } }), { a: 1 })
  })

  test('requires permissions to read jobs and to move jobs as the engine', async () => {
    const { id } = await createJob('gateway-1', { workflow: 'discovery' })
    assert.equal((await viewer.workflows.getJobStatus({ params: { id } })).state, 'CREATED')
    await assert.rejects(put(viewer, id, { state: 'CANCELED' }), code('forbidden'))
    await assert.rejects(viewer.workflows.putJobDefinition({ params: { id }, body: {} }), code('forbidden'))
    await assert.rejects(put(admin, id, { state: 'RUNNING' }), code('invalid_transition'))
    assert.equal((await put(admin, id, { state: 'CANCELED', message: 'not today' })).message, 'not today')
    const withoutRoles = await hub.as(undefined)
    for (const attempt of [
      () => withoutRoles.workflows.getJob({ params: { id } }),
      () => withoutRoles.workflows.listJobs({}),
      () => withoutRoles.workflows.listWorkflows({}),
    ])
      await assert.rejects(attempt(), code('forbidden'))
  })

  test('returns 404 for jobs of another tenant', async () => {
    const { id } = await createJob()
    const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
    await assert.rejects(stranger.workflows.getJob({ params: { id } }), code('not_found'))
    await assert.rejects(stranger.workflows.deleteJob({ params: { id } }), code('not_found'))
    await assert.rejects(stranger.workflows.getWorkflow({ params: { name: directUpdate.name } }), code('not_found'))
    assert.deepEqual((await stranger.workflows.listJobs({})).content, [])
  })

  test('replaces progress reports of a job, and stores messages and changes in its history up to the limit', async () => {
    const { id } = await createJob()
    await put(gateway, id, { state: 'INSTALLING' })
    for (const progress of [10, 20, 30]) await put(gateway, id, { state: 'INSTALLING', progress })
    const past = async () => (await viewer.workflows.getJob({ params: { id }, query: { history: true } })).history ?? []
    assert.deepEqual(
      (await past()).map(({ status }) => status?.state),
      ['INSTALL'],
    )
    await givenLongPast(id)
    for (const message of ['a', 'b', 'c']) await put(gateway, id, { state: 'INSTALLING', message })
    const history = await past()
    assert.equal(history.length, workflowLimits.history)
    assert.deepEqual(
      history.slice(0, 3).map(({ status }) => status?.message),
      ['b', 'a', undefined],
    )
    assert.equal(history.at(-1)?.status?.message, 'line 3')
  })

  test('does not change a job in a final state', async () => {
    const { id } = await createJob()
    await put(gateway, id, { state: 'TERMINATED', message: 'no power', context: { lines: ['a', 'b'] } })
    const again = await put(gateway, id, { state: 'TERMINATED', message: 'something else' })
    assert.deepEqual([again.message, again.context], ['no power', { lines: ['a', 'b'] }])
    await assert.rejects(put(gateway, id, { state: 'INSTALLING' }), code('invalid_transition'))
  })

  test('computes the same hash for a job definition, regardless of the order of its fields', async () => {
    const first = await createJob('gateway-1', { definition: { a: 1, b: { c: [1, 2], d: null } } })
    const second = await createJob('gateway-1', { definition: { b: { d: null, c: [1, 2] }, a: 1 } })
    assert.equal(first.status.definitionHash, second.status.definitionHash)
    await admin.workflows.putJobDefinition({ params: { id: first.id }, body: { a: 2 } })
    const changed = await viewer.workflows.getJob({ params: { id: first.id }, query: { history: true } })
    assert.notEqual(changed.status.definitionHash, first.status.definitionHash)
    assert.deepEqual(changed.history?.[0]?.definition, first.definition)
    assert.deepEqual(await viewer.workflows.getJobDefinition({ params: { id: first.id } }), { a: 2 })
  })

  test('lets gateways and managers change the definitions of jobs, except for jobs of the platform', async () => {
    const rewrite = async (caller: TestCaller, workflow: string) => {
      const body = { clientId: gateway.principalId, workflow, definition: { a: 1 } }
      const { id } = await engineOf(hub).createJob({ body })
      const { status } = await send(caller, `PUT /api/wfx/v1/jobs/${id}/definition`, { a: 2 })
      return [status, (await viewer.workflows.getJobDefinition({ params: { id } })).a]
    }
    for (const caller of [gateway, admin]) {
      assert.deepEqual(await rewrite(caller, directUpdate.name), [200, 2])
      for (const workflow of ['artefact-update', 'artefact-retrieval', 'discovery', 'device-info', 'link-inventory'])
        assert.deepEqual(await rewrite(caller, workflow), [403, 1], workflow)
    }
  })

  test('refuses jobs of the platform from a manager, and names the operation to use', async () => {
    const { total = 0 } = (await viewer.workflows.listJobs({})).pagination ?? {}
    for (const [workflow, operation] of [
      ['artefact-retrieval', 'POST /updates/v1/assets/{id}/retrievals'],
      ['artefact-update', 'POST /updates/v1/campaigns'],
      ['device-info', 'POST /discovery/v1/assets/{id}/properties'],
      ['discovery', 'POST /discovery/v1/gateways/{gatewayId}/discoveries'],
      ['link-inventory', 'PUT /discovery/v1/gateways/{gatewayId}/links/{name}'],
      ['remote-access', 'POST /remote-access/v1/sessions'],
      ['update-campaign', 'POST /updates/v1/campaigns'],
    ] as const) {
      const definition = { assetLinkId: 'a.link', connection: { ip_address: '203.0.113.9' }, link: 'snmp' }
      const body = { clientId: gateway.principalId, workflow, definition }
      await assert.rejects(admin.workflows.createJob({ body }), (problem: { code: string; message: string }) => {
        assert.equal(problem.code, 'forbidden')
        assert.ok(problem.message.includes(operation), problem.message)
        return true
      })
    }
    assert.equal((await viewer.workflows.listJobs({})).pagination?.total, total)
    const workflow = directUpdate.name
    assert.equal((await createJob(gateway.principalId, { workflow })).workflow?.name, workflow)
  })

  test('refuses to move or delete an update job for a manager, and lets its gateway and the platform move it', async () => {
    const body = { clientId: gateway.principalId, workflow: 'artefact-update' }
    const { id } = await engineOf(hub).createJob({ body })
    await assert.rejects(put(admin, id, { state: 'CANCELED' }), code('forbidden'))
    for (const state of ['PREPARING', 'PREPARED']) await put(gateway, id, { state })
    await assert.rejects(put(admin, id, { state: 'ACTIVATE' }), code('forbidden'))
    await assert.rejects(admin.workflows.deleteJob({ params: { id } }), code('conflict'))
    const moves = ['CANCELING', 'CANCELED'] as const
    for (const state of moves) await engineOf(hub).moveJob({ params: { id }, body: { data: { state, as: 'WFX' } } })
    await admin.workflows.deleteJob({ params: { id } })
  })

  test('creates a job with a given id once, and reads the status of jobs', async () => {
    const engine = engineOf(hub)
    const params = { id: newId() }
    const data = { clientId: gateway.principalId, workflow: 'artefact-update', tags: ['once'], definition: { a: 1 } }
    const created = await Promise.all([1, 2, 3].map(() => engine.putClientJob({ params, body: { data } })))
    for (const one of created) assert.deepEqual(one.data, { state: 'CREATED', isFinal: false })
    await put(gateway, params.id, { state: 'PREPARING', progress: 5 })
    const repeated = await engine.putClientJob({ params, body: { data: { ...data, definition: { a: 2 } } } })
    assert.deepEqual(repeated.data, { state: 'PREPARING', isFinal: false })
    assert.deepEqual(await viewer.workflows.getJobDefinition({ params }), { a: 1 })
    const read = await engine.readJobs({ body: { data: { ids: [params.id, newId()] } } })
    assert.deepEqual(
      read.data.map(({ id, isFinal, isLeased, status }) => [id, isFinal, isLeased, status.state, status.progress]),
      [[params.id, false, false, 'PREPARING', 5]],
    )
    await assert.rejects(
      engine.putClientJob({ params: { id: newId() }, body: { data: { ...data, workflow: directUpdate.name } } }),
      code('invalid_reference'),
    )
  })

  test('adds and removes tags of a job, up to the limit', async () => {
    const { id } = await createJob('gateway-1', { tags: ['b'] })
    const params = { id }
    assert.deepEqual(await admin.workflows.addJobTags({ params, body: ['c', 'a', 'b'] }), ['a', 'b', 'c'])
    assert.deepEqual(await admin.workflows.deleteJobTags({ params, body: ['b', 'x'] }), ['a', 'c'])
    assert.deepEqual(await viewer.workflows.getJobTags({ params }), ['a', 'c'])
    const many = Array.from({ length: workflowLimits.tags - 1 }, (_, index) => `tag ${index}`)
    await assert.rejects(admin.workflows.addJobTags({ params, body: many }), code('invalid_body'))
  })

  test('applies a response filter, and refuses an invalid filter before it changes a job', async () => {
    const { id } = await createJob(gateway.principalId, { tags: ['shaped'] })
    const filter = { 'x-response-filter': '.state' }
    const status = await send(gateway, `GET /api/wfx/v1/jobs/${id}/status`, undefined, filter)
    assert.deepEqual([status.text, status.headers.get('x-response-filter')], ['"INSTALL"\n', '.state'])
    const ids = await send(viewer, 'GET /api/wfx/v1/jobs?tag=shaped', undefined, {
      'x-response-filter': '.content[].id',
    })
    assert.equal(ids.text, `"${id}"\n`)
    const refused = await send(
      gateway,
      `PUT /api/wfx/v1/jobs/${id}/status`,
      { state: 'INSTALLING' },
      {
        'x-response-filter': 'del(.state)',
      },
    )
    assert.equal(refused.status, 400)
    assert.equal((refused.body as EngineErrors).errors[0]?.code, 'wfx.invalidResponseFilter')
    assert.equal((await viewer.workflows.getJobStatus({ params: { id } })).state, 'INSTALL')
    const body = { clientId: 'x', workflow: directUpdate.name }
    const headers = { 'x-response-filter': '.status.state', 'idempotency-key': `shaped ${id}` }
    for (let attempt = 0; attempt < 2; attempt++)
      assert.equal((await send(admin, 'POST /api/wfx/v1/jobs', body, headers)).text, '"INSTALL"\n')
  })

  test('records job changes in the audit trail, but not progress reports', async () => {
    const { id } = await createJob()
    await put(gateway, id, { state: 'INSTALLING' })
    for (const progress of [10, 20]) await put(gateway, id, { state: 'INSTALLING', progress })
    await admin.workflows.addJobTags({ params: { id }, body: ['seen'] })
    await admin.workflows.deleteJob({ params: { id } })
    const { data } = await admin.audit.listEntries({ query: { target: `job/${id}` } })
    assert.deepEqual(
      data.map(({ action }) => action),
      ['workflows.deleteJob', 'workflows.addJobTags', 'workflows.putJobStatus', 'workflows.createJob'],
    )
  })

  test('prunes a job and its history after it has been final for the retention period', async () => {
    const [old, recent] = [await createJob('pruned', { tags: ['old'] }), await createJob('pruned')]
    for (const { id } of [old, recent])
      await engineOf(hub).moveJob({ params: { id }, body: { data: { state: 'TERMINATED', as: 'CLIENT' } } })
    await hub.asOwner((owner) =>
      owner.query(
        `update workflow_jobs set modified_at = ${timePlus('modified_at', 'make_interval(days => -$3::integer)')} where tenant_id = $1 and id = $2`,
        [hub.tenant.tenantId, old.id, workflowLimits.keptDays],
      ),
    )
    await hub.contextOf('workflows').tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 2 * 3_600_000) })
    const left = await viewer.workflows.listJobs({ query: { clientId: 'pruned' } })
    assert.deepEqual(
      left.content.map(({ id }) => id),
      [recent.id],
    )
  })

  test('the typed client receives errors of the workflow engine as `Problem` objects', async () => {
    const input: AnyInput = { params: { id: 'none' } }
    const { body, status } = await admin.exchange(workflows, 'getJob', input)
    assert.equal(status, 404)
    assert.equal((body as EngineErrors).errors.length, 1)
    await assert.rejects(admin.workflows.getJob({ params: { id: 'none' } }), code('not_found'))
  })
})
