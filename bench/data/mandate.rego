package mandate

import rego.v1

default outcome := "DENY"

outcome := "ALLOW" if {
	within
	input.amount <= 10000000
}

outcome := "ESCALATE" if {
	within
	input.amount > 10000000
	input.escalations_today < 3
}

within if {
	input.mandate_id == "M-001"
	input.actor == "cfo-agent-01"
	input.type == "pay_invoice"
	input.asset == "USDM"
	input.anchor_status == "active"
	input.anchor_version == 3
	input.now >= 1790812800000
	input.now < 1822348800000
	input.purpose == "vendor_invoice"
	input.counterparty in {"aws", "openai"}
	input.amount <= 25000000
	spent + input.amount <= 50000000
	input.vault_balance - input.amount >= 100000000
	facts
}

spent := 0 if input.day_index < input.today

spent := input.spent_today if input.day_index >= input.today

facts if {
	input.report_age <= 600000
	report := input.report
	report.result == "VERIFIED"
	report.exists
	report.customer_match
	report.status_open
	report.amount_match
	report.currency_match
	report.recipient_match
	report.verified_recipient == input.recipient
	report.verified_amount == input.amount
	report.verified_currency == "usd"
	report.invoice_id == input.invoice_id
}
