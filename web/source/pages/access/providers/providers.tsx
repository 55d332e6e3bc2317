import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import { iconUserKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { Time } from '../../../components/values/time.tsx'
import { accessMessages } from '../messages.ts'
import { ActiveState } from '../principal-actions.tsx'
import { providerMessages } from './messages.ts'
import { type NewProviderForm, newProviderOf, suggestedName } from './provider-form.ts'

/** `Providers` lists the identity providers of the tenant. */
export function Providers() {
  const text = useText(providerMessages)
  const { count } = useText(accessMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(['identity', 'listIdentityProviders'], {}, { live: ['identity'] })
  return (
    <>
      <Toolbar count={count(pagedList.total, formats.number(pagedList.total))}>
        <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>
      </Toolbar>
      <PagedTable
        label={text.providers}
        pagedList={pagedList}
        columns={columnsOf(text)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/access/providers/${id}` })}
        empty={
          <EmptyState icon={iconUserKey} title={text.none}>
            <p>{text.noneHint}</p>
            <p>
              {text.noneSetting} <code>MILLWRIGHT_OUTBOUND_ALLOW</code>
            </p>
          </EmptyState>
        }
      />
      {isAdding && <NewProviderDialog onClose={() => setAdding(false)} />}
    </>
  )
}

type Text = (typeof providerMessages)['en']

function columnsOf(text: Text): Column<IdentityProvider>[] {
  return [
    { id: 'title', header: text.title, width: 200, cell: ({ title }) => title },
    { id: 'name', header: text.name, width: 160, cell: ({ name }) => name },
    { id: 'issuer', header: text.issuer, width: 360, cell: ({ issuer }) => issuer },
    { id: 'state', header: text.state, width: 140, cell: ({ disabled }) => <ActiveState isDisabled={disabled} /> },
    { id: 'created', header: text.created, width: 180, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
  ]
}

const emptyForm: NewProviderForm = { title: '', name: '', issuer: '', clientId: '', clientSecret: '' }

function NewProviderDialog({ onClose }: { onClose: () => Promise<void> }) {
  const text = useText(providerMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const [form, setForm] = useState(emptyForm)
  const [isSubmitted, setSubmitted] = useState(false)
  const change = (changed: Partial<NewProviderForm>) => setForm({ ...form, ...changed })
  const changeTitle = (title: string) => {
    const isSuggested = form.name === suggestedName(form.title)
    change({ title, ...(isSuggested && { name: suggestedName(title) }) })
  }
  const add = async () => {
    const { data } = await api.identity.createIdentityProvider({ body: { data: newProviderOf(form) } })
    await queryClient.invalidateQueries({ queryKey: keyOf('identity', 'listIdentityProviders') })
    await onClose()
    navigate({ to: `/access/providers/${data.id}` })
  }
  const required = [form.title, form.name, form.issuer, form.clientId]
  const submit = () => {
    setSubmitted(true)
    return required.some((value) => value.trim() === '') ? false : add()
  }
  const missing = (value: string) => (isSubmitted && value.trim() === '' ? text.required : undefined)
  return (
    <Dialog title={text.add} onClose={onClose}>
      <Form action={text.add} onSubmit={submit}>
        <TextField
          label={text.title}
          hint={text.titleHint}
          error={missing(form.title)}
          maxLength={256}
          isRequired
          value={form.title}
          onChange={changeTitle}
        />
        <TextField
          label={text.name}
          hint={text.nameHint}
          error={missing(form.name)}
          maxLength={63}
          isRequired
          value={form.name}
          onChange={(name) => change({ name })}
        />
        <TextField
          label={text.issuer}
          hint={text.issuerHint}
          error={missing(form.issuer)}
          type="url"
          maxLength={1024}
          isRequired
          value={form.issuer}
          onChange={(issuer) => change({ issuer })}
        />
        <TextField
          label={text.clientId}
          error={missing(form.clientId)}
          maxLength={256}
          isRequired
          value={form.clientId}
          onChange={(clientId) => change({ clientId })}
        />
        <TextField
          label={text.clientSecret}
          hint={text.clientSecretHint}
          type="password"
          maxLength={1024}
          value={form.clientSecret}
          onChange={(clientSecret) => change({ clientSecret })}
        />
      </Form>
    </Dialog>
  )
}
