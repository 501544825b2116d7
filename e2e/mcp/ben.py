"""Ben's agent: takes its seat over MCP and plays until the room has ended. Prints what it saw as JSON.

Usage: ben.py MCP_URL INVITE_LINK auto|legacy. The card comes as JSON on standard input.
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.types import Implementation

RENT = {"label": "rent", "kind": "money", "value": 95000, "unit": "EUR", "exponent": 2, "term": 1}


async def main(url: str, invite: str, mode: str, card: dict) -> None:
    async with Client(url, mode=mode, client_info=Implementation(name="bens-agent", version="1")) as client:

        async def call(tool: str, **arguments: object) -> dict:
            result = await client.call_tool(tool, arguments)
            if result.is_error:
                sys.exit(f"{tool} was refused: {result.structured_content}")
            return result.structured_content

        await client.list_tools()
        joined = await call("join_room", link=invite)
        link = joined["your_link"]
        view = await call("seal_intent_card", link=link, card=card)
        waits = 0
        while not view["brief_ready"]:
            if view["your_turn"]:
                view = (await call("send_envelope", link=link, **counter(view)))["room"]
            view = await call("wait_for_turn", link=link, since=view["since"], timeout_seconds=20)
            waits += 1
        brief = await call("get_brief", link=link)
        seen = {
            "version": client.protocol_version,
            "status": view["status"],
            "brief_hash": brief["brief_hash"],
            "label": joined["you"]["proxy"],
            "waits": waits,
        }
        print(json.dumps(seen))


def counter(view: dict) -> dict:
    """Reviews every claim of the other side and makes another offer."""
    reviews = []
    for claim in view["claims_to_review"]:
        if claim["origin"] == "assumed":
            reviews.append({"claim_id": claim["id"], "verdict": "challenge", "reason": "Who says so?"})
        else:
            reviews.append({"claim_id": claim["id"], "verdict": "accept"})
    return {
        "message": "The hall is free that evening. Chairs and tables are included in the rent.",
        "status": "continue",
        "client_msg_id": f"ben-{view['since']}",
        "claims": [{"text": "The hall is free on 4 May 2027", "origin": "stated", "ref": "known_facts[0]"}],
        "reviews": reviews,
        "proposal": {
            "terms": [
                "The hall on the evening of 4 May 2027, chairs and tables included",
                "950 EUR by bank transfer in advance",
            ],
            "depends_on": ["new1"],
            "values": [RENT],
            "authority": [
                {"term": 0, "clauses": ["may_agree_to[1]"]},
                {"term": 1, "clauses": ["must_haves[0]", "must_haves[1]"]},
            ],
        },
    }


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], json.load(sys.stdin)))
